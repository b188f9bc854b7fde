// Version 0.6.1: objects by tensor name; a list of one entry per channel with its range.
#include <cmath>

#include "halfstep/encodings/schema/v1.h"

namespace halfstep {
namespace {

Json channel_entry(const Encoding& encoding, double scale, double zero_point) {
  const int width = bits(encoding.dtype);
  const double offset = -(zero_point + unsigned_shift(encoding));
  Json entry;
  entry["bitwidth"] = width;
  entry["dtype"] = "int";
  entry["is_symmetric"] = symmetric_flag(encoding) ? "True" : "False";
  entry["min"] = offset * scale;
  entry["max"] = (std::ldexp(1.0, width) - 1 + offset) * scale;
  entry["scale"] = scale;
  entry["offset"] = number(offset);
  return entry;
}

}  // namespace

Json entry_v0_6_1(const NamedEncoding& tensor) {
  const Encoding& encoding = *tensor.encoding;
  if (encoding.is_float()) {
    Json entry;
    entry["bitwidth"] = bits(encoding.dtype);
    entry["dtype"] = "float";
    return Json::array({entry});
  }
  require_old_type(encoding, "0.6.1");
  const FileValues values = file_values(tensor);
  if (values.form.block_size > 0) {
    refuse("version 0.6.1 of the file can't say blocks; write version 1.0.0 or newer");
  }
  if (values.form.axis) {
    require_channel_axis(tensor, *values.form.axis, "0.6.1");
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < values.scale.size(); ++i) {
    list.push_back(channel_entry(encoding, values.scale[i], values.zero_point[i]));
  }
  return list;
}

}  // namespace halfstep
