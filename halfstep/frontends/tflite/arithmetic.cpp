#include "halfstep/frontends/tflite/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "halfstep/model/node_metadata.h"

namespace halfstep::tflite {
namespace {

bool has_codes(const Tensor& tensor) {
  return tensor.quantized() && tensor.scale.size() == 1 &&
         (tensor.type == Type::int8 || tensor.type == Type::uint8 || tensor.type == Type::int16);
}

struct Limits {
  int low = 0, high = 0;
};

Limits limits(Type type) {
  switch (type) {
    case Type::int8:
      return {.low = -128, .high = 127};
    case Type::uint8:
      return {.low = 0, .high = 255};
    default:
      return {.low = std::numeric_limits<std::int16_t>::min(),
              .high = std::numeric_limits<std::int16_t>::max()};
  }
}

std::string aside(Builder& b, const char* type, const Names& operands) {
  return b.node(type, operands).arithmetic(kArithmeticAside).out();
}
std::string operand(Builder& b, const char* type, const Names& operands) {
  return b.node(type, operands).arithmetic(kArithmeticOperand).out();
}
std::string result(Builder& b, const char* type, const Names& operands) {
  return b.node(type, operands).arithmetic(kArithmeticResult).out();
}

/// The product of codes with one constant, as the kernel and as ONNX compute it.
struct Product {
  float scale = 1.0F, constant_scale = 1.0F, result_scale = 1.0F;
  int zero_point = 0, constant = 0;  ///< `constant` without its zero point
  bool away = false;                 ///< halves go away from zero, else to even

  [[nodiscard]] float kernel(int code) const {
    const float multiplier = scale * constant_scale / result_scale;
    const auto product = static_cast<double>((code - zero_point) * constant);
    return away ? static_cast<float>(std::round(product * static_cast<double>(multiplier)))
                : std::nearbyint(static_cast<float>(product) * multiplier);
  }
  [[nodiscard]] float onnx(int code, float factor) const {
    const float x = static_cast<float>(code - zero_point) * scale;
    const float product = x * (static_cast<float>(constant) * constant_scale);
    return std::nearbyint(product * factor / result_scale);
  }
  [[nodiscard]] int differing(float factor, Limits codes) const {
    int count = 0;
    for (int code = codes.low; code <= codes.high; ++code) {
      count += kernel(code) == onnx(code, factor) ? 0 : 1;
    }
    return count;
  }
};

}  // namespace

std::string round_mean(Builder& b, const Operator& op, std::string value, std::int64_t count) {
  const Tensor& y = b.output(op);
  if (!has_codes(y) || count % 2 != 0) {
    return value;
  }
  const float scale = y.scale[0];
  const float code_zero = -static_cast<float>(y.zero_point[0]) * scale;
  const std::string distance = aside(b, "Sub", {value, b.scalar(code_zero)});
  const std::string side = aside(b, "Sign", {distance});
  const float step = scale / static_cast<float>(4 * count);
  return result(b, "Add", {value, aside(b, "Mul", {side, b.scalar(step)})});
}

std::string round_up(Builder& b, const Operator& op, std::string value) {
  const Tensor& y = b.output(op);
  if (!has_codes(y) || y.type == Type::int16) {
    return value;
  }
  constexpr float kPart = 1.0F / 2048.0F;
  return result(b, "Add", {value, b.scalar(y.scale[0] * kPart)});
}

std::string settle_product(Builder& b, const Operator& op, std::string value) {
  const Tensor& y = b.output(op);
  const bool first = b.input(op, 0).constant;
  const Tensor& c = b.input(op, first ? 0 : 1);
  const Tensor& x = b.input(op, first ? 1 : 0);
  if (!c.constant || x.constant || !has_codes(x) || !has_codes(c) || !has_codes(y) ||
      count(c.shape) != 1) {
    return value;
  }
  const double number = static_cast<double>(b.floats(op.inputs[first ? 0 : 1])[0]);
  const Product product{
      .scale = x.scale[0],
      .constant_scale = c.scale[0],
      .result_scale = y.scale[0],
      .zero_point = static_cast<int>(x.zero_point[0]),
      .constant = static_cast<int>(std::lround(number / static_cast<double>(c.scale[0]))),
      .away = x.type == Type::int16};
  constexpr float kPart = 1.0F / 4194304.0F;
  constexpr std::array kFactors = {1.0F, 1.0F + kPart, 1.0F - kPart};
  const auto best = std::min_element(kFactors.begin(), kFactors.end(), [&](float a, float other) {
    return product.differing(a, limits(x.type)) < product.differing(other, limits(x.type));
  });
  return *best == 1.0F ? value : result(b, "Mul", {std::move(value), b.scalar(*best)});
}

std::string quantize_dynamically(Builder& b, const std::string& value, std::size_t rank,
                                 DynamicRange range, std::int64_t channels) {
  Ints axes;
  for (std::size_t k = 1; k < rank && range == DynamicRange::batch; ++k) {
    axes.push_back(static_cast<std::int64_t>(k));
  }
  const std::string over = b.constant(range == DynamicRange::row ? Ints{channels} : axes);
  const auto extreme = [&](const char* reduce, const char* with_zero) {
    const std::string found =
        b.node(reduce, {value, over}).set("keepdims", 1).arithmetic(kArithmeticAside).out();
    return aside(b, with_zero, {found, b.scalar(0.0F)});
  };
  constexpr float kLow = -128.0F;
  constexpr float kHigh = 127.0F;
  const std::string low = extreme("ReduceMin", "Min");
  const std::string width = aside(b, "Sub", {extreme("ReduceMax", "Max"), low});
  // All zeros: any scale will do.
  const std::string some =
      aside(b, "Max", {width, b.scalar(std::numeric_limits<float>::min() * (kHigh - kLow))});
  const std::string scale = aside(b, "Div", {some, b.scalar(kHigh - kLow)});
  const std::string lowest = b.scalar(kLow);
  const std::string exact = aside(b, "Sub", {lowest, aside(b, "Div", {low, scale})});
  const std::string zero_point = aside(b, "Round", {exact});
  const std::string steps = operand(b, "Div", {value, scale});
  const std::string rounded = operand(b, "Round", {operand(b, "Add", {steps, zero_point})});
  const std::string codes = operand(b, "Clip", {rounded, lowest, b.scalar(kHigh)});
  return operand(b, "Mul", {operand(b, "Sub", {codes, zero_point}), scale});
}

bool is_dynamic_range(const Builder& b, const Operator& op, std::size_t x, std::size_t weights) {
  const Tensor& values = b.input(op, x);
  const Tensor& w = b.input(op, weights);
  return values.type == Type::float32 && !values.constant && w.constant && !w.dequantized &&
         w.quantized() && (w.type == Type::int8 || w.type == Type::int4);
}

}  // namespace halfstep::tflite
