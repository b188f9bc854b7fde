// Version 1.0.0: two lists; codes count from 0 and the offset is the negated zero point; no axis.
#include <cmath>
#include <string>
#include <variant>

#include "halfstep/encodings/schema/entries.h"
#include "halfstep/encodings/schema/v1.h"

namespace halfstep {
namespace {

Json start(const NamedEncoding& tensor, int width, const char* kind, bool symmetric) {
  Json entry;
  entry["name"] = tensor.name;
  entry["dtype"] = "INT";
  entry["bw"] = width;
  entry["enc_type"] = kind;
  entry["is_sym"] = symmetric;
  return entry;
}

/// Flat lists run over channels, then blocks; a matrix stored with its channels last is transposed
/// first. Source: files of AIMET.
template <typename T>
std::vector<T> file_order(const std::vector<T>& values, const Shape& shape, std::int64_t axis) {
  if (shape.size() != 2 || axis != 0) {
    return values;
  }
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto columns = static_cast<std::size_t>(shape[1]);
  std::vector<T> result;
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) {
      result.push_back(values[row * columns + column]);
    }
  }
  return result;
}

void require_axis(std::int64_t axis, const std::optional<std::int64_t>& implied,
                  const char* version, const char* what) {
  if (axis != implied) {
    refuse(std::string("version ") + version + " of the file does not store the " + what +
           "; readers would take " + (implied ? "axis " + std::to_string(*implied) : "none") +
           " instead of axis " + std::to_string(axis));
  }
}

Json lpbq_entry(const NamedEncoding& tensor, const Lpbq& lpbq) {
  const FileValues values = file_values(tensor);
  require_axis(*lpbq.channel_axis, tensor.facts.channel_axis, "1.0.0", "channel axis");
  require_axis(*lpbq.axis, tensor.facts.block_axis, "1.0.0", "block axis");
  const int width = lpbq.decompressed_bits;
  Json entry = start(tensor, width, "LPBQ", true);
  entry["scale"] = values.scale;
  entry["offset"] =
      std::vector<std::int64_t>(values.scale.size(), -(std::int64_t{1} << (width - 1)));
  entry["block_size"] = values.form.block_size;
  entry["compressed_bw"] = bits(tensor.encoding->dtype);
  entry["per_block_int_scale"] = file_order(values.block_scale, values.form.shape, *lpbq.axis);
  return entry;
}

void add_offsets(const Encoding& encoding, const std::vector<double>& zero_points, Json& entry) {
  Json offsets = Json::array();
  for (const double zero_point : zero_points) {
    offsets.push_back(number(std::floor(-(zero_point + unsigned_shift(encoding)))));
  }
  entry["offset"] = std::move(offsets);
  if (encoding.half_step) {
    entry["zero_point_shift"] = std::vector<double>(zero_points.size(), 0.5);
  }
}

}  // namespace

void require_old_type(const Encoding& encoding, const char* version) {
  if (!is_integer(encoding.dtype)) {
    refuse(std::string("version ") + version + " of the file has no type " +
           std::string(name(encoding.dtype)));
  }
}

bool symmetric_flag(const Encoding& encoding) {
  return is_signed_integer(encoding.dtype) && encoding.symmetric();
}

void require_channel_axis(const NamedEncoding& tensor, std::int64_t axis, const char* version) {
  require_axis(axis, tensor.facts.channel_axis, version, "channel axis");
}

Json entry_v1_0_0(const NamedEncoding& tensor) {
  const Encoding& encoding = *tensor.encoding;
  if (encoding.is_float()) {
    Json entry;
    entry["name"] = tensor.name;
    entry["dtype"] = "FLOAT";
    entry["bw"] = bits(encoding.dtype);
    entry["enc_type"] = "PER_TENSOR";
    return entry;
  }
  require_old_type(encoding, "1.0.0");
  if (const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity)) {
    return lpbq_entry(tensor, *lpbq);
  }
  FileValues values = file_values(tensor);
  const bool blocks = values.form.block_size > 0;
  const char* kind = blocks ? "PER_BLOCK" : values.form.axis ? "PER_CHANNEL" : "PER_TENSOR";
  Json entry = start(tensor, bits(encoding.dtype), kind, symmetric_flag(encoding));
  if (blocks) {
    require_axis(*values.form.axis, tensor.facts.block_axis, "1.0.0", "block axis");
    values.scale = file_order(values.scale, values.form.shape, *values.form.axis);
    values.zero_point = file_order(values.zero_point, values.form.shape, *values.form.axis);
  } else if (values.form.axis) {
    require_channel_axis(tensor, *values.form.axis, "1.0.0");
  }
  entry["scale"] = values.scale;
  add_offsets(encoding, values.zero_point, entry);
  if (blocks) {
    entry["block_size"] = values.form.block_size;
  }
  return entry;
}

}  // namespace halfstep
