#include <array>
#include <cstring>
#include <string>

#include "halfstep/frontends/tflite/arithmetic.h"
#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

/// Where the options of a convolution have their fields, axis by axis in the order of the input.
struct ConvolutionFields {
  std::size_t axes = 2;
  std::array<int, 3> stride{};
  std::array<int, 3> dilation{};
  int activation = 3;
  bool depthwise = false;
};

constexpr ConvolutionFields kConv2d{.stride = {2, 1}, .dilation = {5, 4}};
constexpr ConvolutionFields kDepthwise{
    .stride = {2, 1}, .dilation = {6, 5}, .activation = 4, .depthwise = true};
constexpr ConvolutionFields kConv3d{
    .axes = 3, .stride = {1, 3, 2}, .dilation = {5, 7, 6}, .activation = 4};

void add_bias(Builder& b, const Operator& op, std::size_t slot, Names& operands) {
  if (b.has_input(op, slot)) {
    operands.push_back(b.read(op, slot));
  }
}

/// The geometry of the kernel as attributes, all computed from the extents of the file.
void set_geometry(const Builder& b, const Operator& op, const ConvolutionFields& fields,
                  const Ints& kernel, NodeRef node) {
  Ints strides;
  Ints dilations;
  Ints pads(2 * fields.axes, 0);
  const bool same = is_same_padding(op);
  for (std::size_t k = 0; k < fields.axes; ++k) {
    strides.push_back(positive(op, fields.stride[k]));
    dilations.push_back(positive(op, fields.dilation[k]));
    if (same) {
      const Padding padding =
          same_padding(extent(b.input(op, 0), k + 1), kernel[k], strides[k], dilations[k]);
      pads[k] = padding.before;
      pads[k + fields.axes] = padding.after;
    }
  }
  node.set("kernel_shape", kernel)
      .set("strides", strides)
      .set("dilations", dilations)
      .set("pads", pads);
}

/// Is it a matrix product for each place?
bool is_pointwise(const Operator& op, const ConvolutionFields& fields, const Ints& kernel) {
  return kernel == Ints{1, 1} && positive(op, fields.stride[0]) == 1 &&
         positive(op, fields.stride[1]) == 1;
}

void convolution(Builder& b, const Operator& op, const ConvolutionFields& fields) {
  const Tensor& x = b.input(op, 0);
  const Tensor& w = b.input(op, 1);
  require_rank(x, fields.axes + 2);
  require_rank(w, fields.axes + 2);
  const std::int64_t channels = x.shape.back();
  // 2-D: [O, H, W, I], depthwise [1, H, W, C*m], 3-D: [D, H, W, I, O].
  const bool deep = fields.axes == 3;
  Ints order = to_channels_first(fields.axes + 2);
  Ints kernel(w.shape.begin() + 1, w.shape.end() - 1);
  std::int64_t group = 1;
  if (deep) {
    order = {4, 3, 0, 1, 2};
    kernel = {w.shape[0], w.shape[1], w.shape[2]};
  } else if (fields.depthwise) {
    order = {3, 0, 1, 2};
    group = channels;
  } else {
    if (channels % w.shape.back() != 0) {
      damaged("the channels of the input do not fit those of the kernel");
    }
    group = channels / w.shape.back();
  }
  std::string value = b.read(op, 0, Layout::channels_first);
  if (!deep && is_dynamic_range(b, op, 0, 1)) {
    const bool point = !fields.depthwise && is_pointwise(op, fields, kernel);
    value = quantize_dynamically(b, value, x.shape.size(),
                                 point ? DynamicRange::row : DynamicRange::batch, 1);
  }
  Names operands{std::move(value), b.read_permuted(op, 1, order)};
  add_bias(b, op, 2, operands);
  NodeRef node = b.node("Conv", operands);
  set_geometry(b, op, fields, kernel, node);
  node.set("group", group);
  b.finish(op, 0, node.out(), Layout::channels_first,
           op.options.get<std::int8_t>(fields.activation, 0));
}

void conv_2d(Builder& b, const Operator& op) { convolution(b, op, kConv2d); }
void depthwise_conv_2d(Builder& b, const Operator& op) { convolution(b, op, kDepthwise); }
void conv_3d(Builder& b, const Operator& op) { convolution(b, op, kConv3d); }

struct Transposed {
  std::size_t x = 2, w = 1, bias = 3;  ///< operands
  Ints strides{};                      ///< height, width
  int activation = 0;
};

// out = (in - 1) * stride + kernel - padding; what is missing to the output's extent is added
// behind.
void transposed_convolution(Builder& b, const Operator& op, const Transposed& t) {
  const Tensor& x = b.input(op, t.x);
  const Tensor& w = b.input(op, t.w);
  const Tensor& y = b.output(op);
  require_rank(x, 4);
  require_rank(w, 4);
  Ints pads(4, 0);
  Ints extra(2, 0);
  const Ints kernel{w.shape[1], w.shape[2]};
  const Ints sizes = t.x == 2 ? b.integers(op, 0) : Ints(y.shape.begin(), y.shape.end());
  if (sizes.size() != 4) {
    damaged("the shape of its result does not have 4 axes");
  }
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int64_t full = (x.shape[k + 1] - 1) * t.strides[k] + kernel[k];
    const std::int64_t total = full - sizes[k + 1];
    pads[k] = total > 0 ? total / 2 : 0;
    pads[k + 2] = total > 0 ? total - total / 2 : 0;
    extra[k] = total < 0 ? -total : 0;
    if (extra[k] >= t.strides[k]) {
      refuse("its result is larger than its stride allows");
    }
  }
  // [O, H, W, I] to [I, O, H, W]
  std::string value = b.read(op, t.x, Layout::channels_first);
  if (is_dynamic_range(b, op, t.x, t.w)) {
    value = quantize_dynamically(b, value, x.shape.size(), DynamicRange::batch, 1);
  }
  Names operands{std::move(value), b.read_permuted(op, t.w, {3, 0, 1, 2})};
  add_bias(b, op, t.bias, operands);
  NodeRef node = b.node("ConvTranspose", operands)
                     .set("kernel_shape", kernel)
                     .set("strides", t.strides)
                     .set("pads", pads);
  if (extra != Ints{0, 0}) {
    node.set("output_padding", extra);
  }
  b.finish(op, 0, node.out(), Layout::channels_first, t.activation);
}

// Which padding it is follows from the shape of the result.
void transpose_conv(Builder& b, const Operator& op) {
  transposed_convolution(b, op,
                         {.strides = {positive(op, 2), positive(op, 1)},
                          .activation = op.options.get<std::int8_t>(3, 0)});
}

// MediaPipe's: the options are a C structure of padding (1 SAME, 2 VALID), stride width, height.
void transpose_bias(Builder& b, const Operator& op) {
  std::array<std::int32_t, 3> options{};
  if (op.custom_options.size() < sizeof(options)) {
    damaged("its options are too short");
  }
  std::memcpy(options.data(), op.custom_options.data(), sizeof(options));
  if (options[1] < 1 || options[2] < 1 || options[1] > 4096 || options[2] > 4096) {
    damaged("a stride is " + std::to_string(options[1]) + " or " + std::to_string(options[2]));
  }
  require_rank(b.output(op), 4);
  transposed_convolution(b, op, {.x = 0, .w = 1, .bias = 2, .strides = {options[2], options[1]}});
}

constexpr std::array kRows = {
    OpRow{.code = 3, .read = conv_2d}, OpRow{.code = 4, .read = depthwise_conv_2d},
    OpRow{.code = 67, .read = transpose_conv}, OpRow{.code = 132, .read = conv_3d}};
constexpr std::array kCustoms = {
    CustomRow{.name = "Convolution2DTransposeBias", .read = transpose_bias}};

}  // namespace

std::span<const OpRow> convolution_ops() { return kRows; }
std::span<const CustomRow> convolution_customs() { return kCustoms; }

}  // namespace halfstep::tflite
