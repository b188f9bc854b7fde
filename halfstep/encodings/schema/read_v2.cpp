// Versions 2.x: entries follow the operator QuantizeLinear of ONNX.
#include <algorithm>
#include <cmath>

#include "halfstep/encodings/schema/file_entry.h"
#include "halfstep/encodings/schema/v2.h"

namespace halfstep {
namespace {

/// block_size is a number, or one size per axis with 1 on every axis but the one cut into blocks.
void read_block_size(const Json& json, FileEntry& entry) {
  const auto found = json.find("block_size");
  if (found == json.end() || found->is_null()) {
    return;
  }
  if (found->is_number()) {
    entry.block_size = integer_at(json, "block_size");
    if (!entry.axis) {
      fault("has block_size, but no axis to say which axis is cut into blocks");
    }
    return;
  }
  const NumberList sizes = numbers(*found, "block_size");
  std::optional<std::size_t> axis;
  for (std::size_t i = 0; i < sizes.values.size(); ++i) {
    if (sizes.values[i] != 1 && axis) {
      fault("block_size blocks more than one axis");
    }
    if (sizes.values[i] != 1) {
      axis = i;
    }
  }
  if (!axis) {
    axis = sizes.values.size() - 1;
  }
  entry.axis = static_cast<std::int64_t>(*axis);
  entry.block_size = static_cast<std::int64_t>(sizes.values[*axis]);
}

void read_zero_point(const Json& json, FileEntry& entry) {
  if (json.contains("y_zero_point")) {
    entry.zero_point = numbers(json.at("y_zero_point"), "y_zero_point");
  }
  if (!json.contains("offset")) {
    return;
  }
  const NumberList offset = numbers(json.at("offset"), "offset");
  if (std::any_of(offset.values.begin(), offset.values.end(), [](double v) { return v != 0; })) {
    fault("offset must be 0; say y_zero_point instead, which has the other sign");
  }
}

void read_lpbq(const Json& integers, const Json& channels, FileEntry& entry) {
  entry.layout = FileLayout::lpbq;
  entry.block_scale = numbers(integers, "per-block integer scale");
  entry.scale = numbers(channels, "per-channel float scale");
  entry.decompressed_bits = 2 * bits(entry.dtype);
  if (entry.block_size == 0) {
    fault("LPBQ needs a block_size");
  }
  const auto nonzero = [](double value) { return value != 0; };
  if (entry.zero_point &&
      std::any_of(entry.zero_point->values.begin(), entry.zero_point->values.end(), nonzero)) {
    fault("y_zero_point of LPBQ must be 0");
  }
  entry.zero_point.reset();
  // Channel scales of full rank show their axis.
  const Shape& shape = entry.scale->shape;
  for (std::size_t i = 0; shape.size() > 1 && i < shape.size(); ++i) {
    if (shape[i] != 1) {
      entry.channel_axis = static_cast<std::int64_t>(i);
    }
  }
}

/// 2.1.0: the scale is itself quantized. Integers make LPBQ; float codes are just multiplied out.
void read_quantized_scale(const Json& scale, FileEntry& entry) {
  if (!scale.contains("x") || !scale.contains("x_scale")) {
    fault("y_scale as an object needs x and x_scale");
  }
  if (scale.contains("x_zero_point")) {
    const NumberList zero = numbers(scale.at("x_zero_point"), "x_zero_point");
    if (std::any_of(zero.values.begin(), zero.values.end(), [](double v) { return v != 0; })) {
      fault("x_zero_point of a scale must be 0");
    }
  }
  if (lower_text_at(scale, "input_dtype", "int").find("float") == std::string::npos) {
    read_lpbq(scale.at("x"), scale.at("x_scale"), entry);
    if (scale.contains("axis") && !scale.at("axis").is_null()) {
      std::int64_t axis = integer_at(scale, "axis");
      const auto rank = static_cast<std::int64_t>(entry.block_scale.shape.size());
      entry.channel_axis = axis < 0 ? axis + rank : axis;
    }
    return;
  }
  NumberList product = numbers(scale.at("x"), "x");
  const NumberList factor = numbers(scale.at("x_scale"), "x_scale");
  if (factor.values.size() != 1) {
    fault("x_scale of a float scale must be one number");
  }
  for (double& value : product.values) {
    value *= factor.values[0];
  }
  entry.layout = FileLayout::per_block;
  entry.scale = std::move(product);
}

}  // namespace

FileEntry read_entry_v2(const std::string& name, const Json& json) {
  if (json.contains("bw") || json.contains("bitwidth")) {
    fault("is an entry of an older version of the file; set \"version\" to what it is");
  }
  FileEntry entry{.name = name, .dtype = parse_type_v2(lower_text_at(json, "output_dtype", ""))};
  if (json.contains("axis") && !json.at("axis").is_null()) {
    entry.axis = integer_at(json, "axis");
  }
  read_block_size(json, entry);
  read_zero_point(json, entry);
  if (json.contains("per_block_int_scale")) {
    if (!json.contains("per_channel_float_scale")) {
      fault("has per_block_int_scale, but no per_channel_float_scale");
    }
    read_lpbq(json.at("per_block_int_scale"), json.at("per_channel_float_scale"), entry);
    return entry;
  }
  if (!json.contains("y_scale")) {
    if (entry.dtype == Dtype::float32) {
      entry.remark(Severity::warning, "encodings/float32",
                   "asks for float32, which targets of this file run as float16");
    }
    return entry;
  }
  if (json.at("y_scale").is_object()) {
    read_quantized_scale(json.at("y_scale"), entry);
    return entry;
  }
  entry.scale = numbers(json.at("y_scale"), "y_scale");
  const bool one = entry.scale->values.size() == 1;
  entry.layout = entry.block_size > 0 ? FileLayout::per_block
                 : one && !entry.axis ? FileLayout::per_tensor
                                      : FileLayout::per_channel;
  return entry;
}

}  // namespace halfstep
