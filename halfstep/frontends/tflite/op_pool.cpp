#include <array>

#include "halfstep/frontends/tflite/arithmetic.h"
#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

NodeRef pool(Builder& b, const Operator& op, const char* type, const std::string& x) {
  const Tensor& from = b.input(op, 0);
  require_rank(from, 4);
  const Ints strides{positive(op, 2), positive(op, 1)};
  const Ints kernel{positive(op, 4), positive(op, 3)};
  Ints pads(4, 0);
  if (is_same_padding(op)) {
    for (std::size_t k = 0; k < 2; ++k) {
      const Padding padding = same_padding(from.shape[k + 1], kernel[k], strides[k], 1);
      pads[k] = padding.before;
      pads[k + 2] = padding.after;
    }
  }
  return b.node(type, {x}).set("kernel_shape", kernel).set("strides", strides).set("pads", pads);
}

void finish(Builder& b, const Operator& op, const std::string& value) {
  b.finish(op, 0, value, Layout::channels_first, op.options.get<std::int8_t>(5, 0));
}

void average_pool_2d(Builder& b, const Operator& op) {
  const std::string mean = pool(b, op, "AveragePool", b.read(op, 0, Layout::channels_first)).out();
  finish(b, op, round_mean(b, op, mean, positive(op, 3) * positive(op, 4)));
}

void max_pool_2d(Builder& b, const Operator& op) {
  finish(b, op, pool(b, op, "MaxPool", b.read(op, 0, Layout::channels_first)).out());
}

void l2_pool_2d(Builder& b, const Operator& op) {
  const std::string x = b.read(op, 0, Layout::channels_first);
  const std::string squares = b.node("Mul", {x, x}).out();
  const NodeRef mean = pool(b, op, "AveragePool", squares);
  finish(b, op, b.node("Sqrt", {mean.out()}).out());
}

constexpr std::array kRows = {OpRow{.code = 1, .read = average_pool_2d},
                              OpRow{.code = 12, .read = l2_pool_2d},
                              OpRow{.code = 17, .read = max_pool_2d}};

}  // namespace

std::span<const OpRow> pool_ops() { return kRows; }

}  // namespace halfstep::tflite
