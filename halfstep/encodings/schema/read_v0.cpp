// Versions without a number and 0.x: a list of one item per channel.
#include <cmath>

#include "halfstep/encodings/schema/file_entry.h"

namespace halfstep {
namespace {

bool has(const Json& json, const char* key) { return json.contains(key); }

struct Item {
  std::int64_t width = 0;
  bool is_float = false;
  bool symmetric = false;
  bool has_range = false;  ///< scale, or min and max
  double scale = 0;
  double offset = 0;  ///< value = (code + offset) * scale
};

/// Some writers give the zero point itself where the offset is expected; the minimum shows it.
double checked_offset(const Json& json, double offset, bool& reversed) {
  if (offset > 0 && has(json, "min") && number_at(json, "min") < 0) {
    reversed = true;
    return -offset;
  }
  return offset;
}

void read_range(const Json& json, Item& item, bool& reversed) {
  const double steps = std::ldexp(1.0, static_cast<int>(item.width)) - 1;
  if (has(json, "scale")) {
    item.scale = number_at(json, "scale");
  } else {
    item.scale = (number_at(json, "max") - number_at(json, "min")) / steps;
  }
  if (!(item.scale > 0) || !std::isfinite(item.scale)) {
    fault("scale must be finite and > 0 (got " + std::to_string(item.scale) + ")");
  }
  if (has(json, "offset")) {
    item.offset = checked_offset(json, number_at(json, "offset"), reversed);
  } else {
    item.offset = std::nearbyint(number_at(json, "min") / item.scale);
  }
  item.has_range = true;
}

Item read_item(const Json& json, bool& reversed) {
  if (!json.is_object()) {
    fault("must be an object with bitwidth, scale, offset");
  }
  if (has(json, "bw") || has(json, "output_dtype")) {
    fault("is an entry of a newer version of the file; set \"version\" to what it is");
  }
  Item item{.width = integer_at(json, "bitwidth"),
            .is_float = lower_text_at(json, "dtype", "int") == "float",
            .symmetric = flag_at(json, "is_symmetric", false)};
  if (!item.is_float) {
    (void)integer_type(item.symmetric, item.width);
    if (has(json, "scale") || (has(json, "min") && has(json, "max"))) {
      read_range(json, item, reversed);
    }
  }
  return item;
}

void require_alike(const Item& first, const Item& item) {
  if (first.width != item.width || first.is_float != item.is_float ||
      first.symmetric != item.symmetric || first.has_range != item.has_range) {
    fault("channels differ in bitwidth, dtype or is_symmetric");
  }
}

}  // namespace

FileEntry read_entry_v0(const std::string& name, const Json& json) {
  if (!json.is_array() || json.empty()) {
    fault("must be a list of one item per channel");
  }
  bool reversed = false;
  const Item first = read_item(json.at(0), reversed);
  FileEntry entry{.name = name};
  if (first.is_float) {
    entry.dtype = float_type(first.width);
    return entry;
  }
  entry.dtype = integer_type(first.symmetric, first.width);
  NumberList scale, zero_point;
  for (const Json& channel : json) {
    const Item item = read_item(channel, reversed);
    require_alike(first, item);
    scale.values.push_back(item.scale);
    zero_point.values.push_back(zero_point_of_offset(item.offset, entry.dtype));
  }
  if (json.size() > 1) {
    entry.layout = FileLayout::per_channel;
    scale.shape = zero_point.shape = {static_cast<std::int64_t>(json.size())};
  }
  if (first.has_range) {
    entry.scale = std::move(scale);
    entry.zero_point = std::move(zero_point);
    check_symmetric_offset(entry, first.symmetric);
  }
  if (reversed) {
    entry.remark(Severity::note, "encodings/positive-offset",
                 "has a positive offset and a negative minimum; the offset was read as a zero "
                 "point");
  }
  return entry;
}

}  // namespace halfstep
