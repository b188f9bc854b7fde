// Version 2.1.0: as 2.0.0, but a scale may itself be quantized; that is how LPBQ is said.
#include <variant>

#include "halfstep/encodings/schema/v2.h"

namespace halfstep {

Json entry_v2_1_0(const NamedEncoding& tensor) {
  const Encoding& encoding = *tensor.encoding;
  const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity);
  if (lpbq == nullptr) {
    return linear_entry_v2(tensor);
  }
  if (lpbq->decompressed_bits != 2 * bits(encoding.dtype)) {
    refuse(
        "version 2.1.0 of the file does not say the decompressed width of LPBQ and readers take "
        "twice the stored one; " +
        std::string(name(encoding.dtype)) + " to " + std::to_string(lpbq->decompressed_bits) +
        " bits needs version 1.0.0");
  }
  const FileValues values = file_values(tensor);
  Json scale;
  scale["x"] = nested<std::int64_t>(values.block_scale, values.form.shape);
  scale["x_scale"] = values.scale;
  scale["axis"] = *lpbq->channel_axis;
  Json entry = entry_start_v2(tensor);
  entry["y_scale"] = std::move(scale);
  add_axis_v2(values, entry);
  return entry;
}

}  // namespace halfstep
