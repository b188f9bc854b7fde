// Version 1.x: one object per tensor, flat lists, no axis.
#include <array>

#include "halfstep/encodings/schema/file_entry.h"

namespace halfstep {
namespace {

FileLayout layout_of(const Json& json) {
  const std::string text = lower_text_at(json, "enc_type", "");
  if (text == "per_tensor") {
    return FileLayout::per_tensor;
  }
  if (text == "per_channel") {
    return FileLayout::per_channel;
  }
  if (text == "per_block") {
    return FileLayout::per_block;
  }
  if (text == "lpbq") {
    return FileLayout::lpbq;
  }
  if (!text.empty()) {
    fault("enc_type \"" + text +
          "\" is unknown; expected PER_TENSOR, PER_CHANNEL, PER_BLOCK or LPBQ");
  }
  const bool several =
      json.contains("scale") && json.at("scale").is_array() && json.at("scale").size() > 1;
  return several ? FileLayout::per_channel : FileLayout::per_tensor;
}

void read_offsets(const Json& json, FileEntry& entry) {
  NumberList offset = numbers(json.contains("offset") ? json.at("offset") : Json(0), "offset");
  NumberList shift;
  if (json.contains("zero_point_shift")) {
    shift = numbers(json.at("zero_point_shift"), "zero_point_shift");
    if (shift.values.size() != 1 && shift.values.size() != offset.values.size()) {
      fault("zero_point_shift has " + std::to_string(shift.values.size()) + " numbers, offset " +
            std::to_string(offset.values.size()));
    }
  }
  for (std::size_t i = 0; i < offset.values.size(); ++i) {
    double value = offset.values[i];
    if (!shift.values.empty()) {
      value += shift.values[shift.values.size() == 1 ? 0 : i];
    }
    offset.values[i] = zero_point_of_offset(value, entry.dtype);
  }
  entry.zero_point = std::move(offset);
}

void read_lpbq(const Json& json, FileEntry& entry) {
  entry.decompressed_bits = bits(entry.dtype);
  const std::int64_t stored = integer_at(json, "compressed_bw");
  if (stored >= entry.decompressed_bits) {
    fault("compressed_bw must be below bw (got " + std::to_string(stored) + " and " +
          std::to_string(entry.decompressed_bits) + ")");
  }
  entry.dtype = integer_type(true, stored);
  entry.block_size = integer_at(json, "block_size");
  if (!json.contains("per_block_int_scale")) {
    fault("has no \"per_block_int_scale\"");
  }
  entry.block_scale = numbers(json.at("per_block_int_scale"), "per_block_int_scale");
}

}  // namespace

FileEntry read_entry_v1(const std::string& name, const Json& json) {
  if (!json.is_object()) {
    fault("must be an object with name, bw, dtype, enc_type, scale, offset");
  }
  if (json.contains("bitwidth") || json.contains("output_dtype")) {
    fault("is an entry of another version of the file; set \"version\" to what it is");
  }
  FileEntry entry{.name = name};
  const std::string kind = lower_text_at(json, "dtype", "int");
  const std::int64_t width = integer_at(json, "bw");
  if (kind == "float" || kind == "fp") {
    entry.dtype = float_type(width);
    return entry;
  }
  if (kind != "int") {
    fault("dtype \"" + kind + "\" is unknown; expected INT or FLOAT");
  }
  const bool symmetric = flag_at(json, "is_sym", false);
  entry.dtype = integer_type(symmetric, width);
  entry.layout = layout_of(json);
  entry.channels_first = true;
  if (!json.contains("scale")) {
    return entry;
  }
  entry.scale = numbers(json.at("scale"), "scale");
  if (entry.layout == FileLayout::lpbq) {
    read_lpbq(json, entry);  // its offset belongs to the decompressed width and says nothing
    return entry;
  }
  read_offsets(json, entry);
  check_symmetric_offset(entry, symmetric);
  if (entry.layout == FileLayout::per_block) {
    entry.block_size = integer_at(json, "block_size");
  }
  return entry;
}

}  // namespace halfstep
