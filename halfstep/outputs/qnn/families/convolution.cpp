// Convolutions: data channels last, filters height, width, input channel, output channel.
#include <algorithm>
#include <utility>

#include "halfstep/outputs/qnn/constant_data.h"
#include "halfstep/outputs/qnn/families/families.h"
#include "halfstep/outputs/qnn/families/window.h"

namespace halfstep::qnn {
namespace {

/// Spatial axes of the filter, then input and output channel; `in`, `out`: their axes in ONNX.
Layout filter_layout(std::size_t rank, int in, int out) {
  Layout layout;
  if (rank == 3) {
    layout.push_back(-1);
  }
  for (std::size_t i = 2; i < rank; ++i) {
    layout.push_back(static_cast<int>(i));
  }
  layout.push_back(in);
  layout.push_back(out);
  return layout;
}

std::vector<std::int64_t> filter_extents(const NodeContext& context) {
  const Shape& filter = context.in_shape(1);
  return {filter.begin() + 2, filter.end()};
}

std::vector<std::string> operands(const NodeContext& context, std::string filter) {
  std::vector<std::string> names{context.operand(0, channels_last(context.rank())),
                                 std::move(filter)};
  if (context.has(2)) {
    names.push_back(context.operand(2));
  }
  return names;
}

/// A grouped filter [I, O/g, ...] as one without groups, [..., I, O], zero between groups.
/// Measured: grouped transposed convolutions read scales of channels wrongly.
std::string ungrouped_filter(const NodeContext& context, std::int64_t groups) {
  const Encoding& encoding = *context.graph.encoding_of(context.index, 1);
  const Shape& shape = context.in_shape(1);
  const Layout layout = filter_layout(shape.size(), 0, 1);
  ConstantData data =
      constant_data(context.graph.model(), *context.graph.index().constant(context.in(1)),
                    &encoding, nullptr, layout);
  const auto in = static_cast<std::size_t>(shape[0]), out = static_cast<std::size_t>(shape[1]);
  const auto all = static_cast<std::size_t>(groups);
  const std::size_t width = size_of(data.type.type), row = out * width;
  const std::size_t rows = data.bytes.size() / row;
  std::vector<std::byte> bytes(data.bytes.size() * all, std::byte{0});
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t group = i % in / (in / all);
    std::copy_n(data.bytes.begin() + static_cast<std::ptrdiff_t>(i * row), row,
                bytes.begin() + static_cast<std::ptrdiff_t>((i * all + group) * row));
  }
  data.dims.back() *= groups;
  Quantization& q = data.type.quantization;
  const std::vector<float> scales = q.scales;
  for (std::size_t group = 1; group < all; ++group) {
    q.scales.insert(q.scales.end(), scales.begin(), scales.end());
  }
  q.offsets.assign(q.scales.size(), 0);
  return context.graph.add_constant(context.in(1) + "_ungrouped", data.type, data.dims,
                                    std::move(bytes));
}

/// Has the filter a signed scale for each of its channels?
bool is_signed_per_channel(const NodeContext& context) {
  if (!context.is_constant(1)) {
    return false;
  }
  const TensorType type = context.operand_type(1);
  return type.quantization.scales.size() > 1 &&
         (type.type == DataType::sfixed8 || type.type == DataType::sfixed16);
}

void add_result(const NodeContext& context, std::vector<std::string> inputs,
                std::vector<Param> params) {
  context.graph.add(context.op, std::move(inputs),
                    {context.graph.result(context.out(), channels_last(context.rank()))},
                    std::move(params));
}

}  // namespace

void lower_convolution(const NodeContext& context) {
  const Window window = read_window(context, filter_extents(context));
  std::vector<Param> params{list_param("stride", window.stride), pad_param(window.pads),
                            list_param("dilation", window.dilation)};
  if (context.op != "DepthWiseConv2d") {
    const auto groups = static_cast<std::uint32_t>(context.attribute("group", std::int64_t{1}));
    params.push_back({.name = "group", .value = groups});
  }
  add_result(context, operands(context, context.operand(1, filter_layout(context.rank(1), 1, 0))),
             std::move(params));
}

/// Formula: output = stride (input - 1) + output_padding + dilation (kernel - 1) + 1 - pads
void lower_transpose_convolution(const NodeContext& context) {
  const std::size_t axes = context.rank() - 2;
  const Shape &in = context.in_shape(0), &out = context.out_shape();
  const std::vector<std::int64_t> kernel = filter_extents(context);
  std::vector<std::int64_t> strides = context.list("strides"), given = context.list("pads");
  std::vector<std::int64_t> extra = context.list("output_padding");
  strides.resize(axes, 1);
  given.resize(2 * axes, 0);
  extra.resize(axes, 0);
  for (const std::int64_t dilation : context.list("dilations")) {
    if (dilation != 1) {
      context.refuse("it is dilated, and QNN's transposed convolution is not");
    }
  }
  const std::string automatic = context.attribute("auto_pad", "NOTSET");
  std::vector<std::uint32_t> stride, pads, padding;
  if (axes == 1) {
    stride = {1};
    pads = {0, 0};
    padding = {0};
  }
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t full = strides[i] * (in[i + 2] - 1) + extra[i] + kernel[i];
    std::int64_t before = given[i], after = given[i + axes];
    if (automatic != "NOTSET" || full - before - after != out[i + 2]) {  // output_shape, auto_pad
      const std::int64_t all = full - out[i + 2];
      before = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      after = all - before;
    }
    if (before < 0 || after < 0) {
      context.refuse("it needs negative pads, and QNN takes none");
    }
    stride.push_back(static_cast<std::uint32_t>(strides[i]));
    pads.push_back(static_cast<std::uint32_t>(before));
    pads.push_back(static_cast<std::uint32_t>(after));
    padding.push_back(static_cast<std::uint32_t>(extra[i]));
  }
  std::int64_t groups = context.attribute("group", std::int64_t{1});
  std::string filter;
  if (groups > 1 && is_signed_per_channel(context)) {
    filter = ungrouped_filter(context, std::exchange(groups, 1));
  } else {
    filter = context.operand(1, filter_layout(context.rank(1), 0, 1));
  }
  add_result(context, operands(context, std::move(filter)),
             {list_param("stride", stride),
              pad_param(pads),
              list_param("output_padding", padding),
              {.name = "group", .value = static_cast<std::uint32_t>(groups)}});
}

}  // namespace halfstep::qnn
