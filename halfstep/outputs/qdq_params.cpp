#include "halfstep/outputs/qdq_params.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <variant>

#include "halfstep/core/minifloat.h"
#include "halfstep/core/quantize.h"
#include "halfstep/encodings/linear_form.h"
#include "halfstep/model/node_metadata.h"

namespace halfstep {
namespace {

std::vector<std::byte> bytes_of(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

/// Integers as ONNX stores them in `dtype`; low bytes first, packed below 8 bits.
std::vector<std::byte> stored(std::span<const std::int64_t> values, Dtype dtype) {
  const std::size_t size = storage_size(dtype);
  std::vector<std::byte> codes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(codes.data() + i * size, &values[i], size);
  }
  std::vector<std::byte> packed(packed_size(values.size(), dtype));
  pack(codes, dtype, packed);
  return packed;
}

std::vector<std::byte> scale_bytes(std::span<const float> scales, Dtype type) {
  if (type == Dtype::float32) {
    return bytes_of(scales);
  }
  std::vector<std::byte> codes;
  std::ranges::transform(scales, std::back_inserter(codes),
                         [](float scale) { return std::byte{float_to_e8m0(scale)}; });
  return codes;
}

std::vector<float> scales(const Encoding& encoding, const LinearForm& form) {
  std::vector<float> result;
  result.reserve(form.units.size());
  for (const std::size_t unit : form.units) {
    result.push_back(encoding.scale[unit]);
  }
  return result;
}

std::vector<std::int64_t> zero_points(const Encoding& encoding, const LinearForm& form) {
  std::vector<std::int64_t> result(form.units.size(), 0);
  if (encoding.zero_point.empty() || std::holds_alternative<Lpbq>(encoding.granularity)) {
    return result;
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = encoding.zero_point[form.units[i]];
  }
  return result;
}

void set_int(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

onnx::NodeProto make_node(NameMaker& names, const char* op_type, const std::string& base,
                          const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type(op_type);
  node.set_name(names.fresh(base + "_" + op_type));
  for (const std::string& input : inputs) {
    node.add_input(input);
  }
  node.add_output(output);
  return node;
}

onnx::NodeProto linear_node(NameMaker& names, const char* op_type, const std::string& base,
                            const QdqParams& params, const std::string& input,
                            const std::string& output) {
  onnx::NodeProto node =
      make_node(names, op_type, base, {input, params.scale, params.zero_point}, output);
  if (params.axis) {
    set_int(node, "axis", *params.axis);
  }
  if (params.block_size > 0) {
    set_int(node, "block_size", params.block_size);
  }
  if (!params.dtype.empty()) {
    set_metadata(node, kDtypeKey, params.dtype);
  }
  return node;
}

/// The scale of LPBQ is the output of a DequantizeLinear: integer block scales x channel scales.
void add_lpbq_scale(GraphEditor& editor, NameMaker& names, const std::string& base,
                    const Encoding& encoding, const LinearForm& form, QdqParams& params) {
  const auto& lpbq = std::get<Lpbq>(encoding.granularity);
  const Dtype dtype =
      lpbq.decompressed_bits - bits(encoding.dtype) < 8 ? Dtype::uint8 : Dtype::uint16;
  std::vector<std::int64_t> integers;
  for (const std::size_t unit : form.units) {
    integers.push_back(encoding.block_scale[unit]);
  }
  const std::string stored_scale = names.fresh(base + "_block_scale");
  editor.add_initializer(stored_scale, dtype, form.shape, stored(integers, dtype));

  const auto channels = static_cast<std::int64_t>(encoding.scale.size());
  const std::vector<std::int64_t> zeros(encoding.scale.size(), 0);
  const QdqParams channel{.scale = names.fresh(base + "_channel_scale"),
                          .zero_point = names.fresh(base + "_block_scale_zero_point"),
                          .axis = lpbq.channel_axis};
  editor.add_initializer(channel.scale, Dtype::float32, {channels},
                         bytes_of(stored_encoding(encoding).scale));
  editor.add_initializer(channel.zero_point, dtype, {channels}, stored(zeros, dtype));
  params.scale_node =
      dequantize_node(names, base + "_block_scale", channel, stored_scale, params.scale);
}

}  // namespace

QdqParams add_params(GraphEditor& editor, NameMaker& names, const std::string& base,
                     const Encoding& encoding, const Shape& shape, Dtype scale_type) {
  const LinearForm form = linear_form(encoding, shape, Spread::full);
  const Encoding stored_form = stored_encoding(encoding);
  QdqParams params{.scale = names.fresh(base + "_scale"),
                   .zero_point = names.fresh(base + "_zero_point"),
                   .axis = form.axis,
                   .block_size = form.block_size,
                   .scale_type = scale_type,
                   .dtype = std::string(narrow_type(encoding))};
  if (std::holds_alternative<Lpbq>(encoding.granularity)) {
    add_lpbq_scale(editor, names, base, encoding, form, params);
  } else {
    editor.add_initializer(params.scale, scale_type, form.shape,
                           scale_bytes(scales(stored_form, form), scale_type));
  }
  editor.add_initializer(params.zero_point, stored_form.dtype, form.shape,
                         stored(zero_points(stored_form, form), stored_form.dtype));
  return params;
}

void add_bounds(GraphEditor& editor, NameMaker& names, const std::string& base,
                const Encoding& encoding, QdqParams& params) {
  if (!onnx_can_saturate(encoding)) {
    return;
  }
  const DtypeInfo& type = info(encoding.dtype);
  const double zero_point =
      encoding.zero_point.empty() ? 0 : static_cast<double>(encoding.zero_point.at(0));
  const auto bound = [&](double code) {
    return static_cast<float>((code - zero_point) * static_cast<double>(encoding.scale.at(0)));
  };
  const std::array bounds = {bound(type.lowest), bound(type.highest)};
  params.low = names.fresh(base + "_lowest");
  params.high = names.fresh(base + "_highest");
  editor.add_initializer(params.low, Dtype::float32, {}, bytes_of(std::span(bounds).first(1)));
  editor.add_initializer(params.high, Dtype::float32, {}, bytes_of(std::span(bounds).last(1)));
}

onnx::NodeProto saturate_node(NameMaker& names, const std::string& base, const QdqParams& params,
                              const std::string& input, const std::string& output) {
  onnx::NodeProto node = make_node(names, "Clip", base, {input, params.low, params.high}, output);
  set_metadata(node, kOpKey, kSaturateMark);
  return node;
}

onnx::NodeProto quantize_node(NameMaker& names, const std::string& base, const QdqParams& params,
                              const std::string& input, const std::string& output) {
  return linear_node(names, "QuantizeLinear", base, params, input, output);
}

onnx::NodeProto dequantize_node(NameMaker& names, const std::string& base, const QdqParams& params,
                                const std::string& input, const std::string& output) {
  onnx::NodeProto node = linear_node(names, "DequantizeLinear", base, params, input, output);
  if (params.scale_type != Dtype::float32) {  // else the output would have the scale's type
    set_int(node, "output_dtype", onnx::TensorProto::FLOAT);
  }
  return node;
}

onnx::NodeProto reshape_node(NameMaker& names, const std::string& base, const std::string& input,
                             const std::string& shape, const std::string& output) {
  return make_node(names, "Reshape", base, {input, shape}, output);
}

onnx::NodeProto cast_node(NameMaker& names, const std::string& base, const std::string& input,
                          const std::string& output, int elem_type) {
  onnx::NodeProto node = make_node(names, "Cast", base, {input}, output);
  set_int(node, "to", elem_type);
  return node;
}

}  // namespace halfstep
