#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "halfstep/frontends/tflite/arithmetic.h"
#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

bool is_number(const Tensor& tensor) {
  return count(tensor.dynamic ? Shape{2} : tensor.shape) == 1;
}

/// Can all operands be read with channels first? Then one that is so already decides.
Layout common_layout(const Builder& b, const Operator& op) {
  const Tensor& out = b.output(op);
  bool wanted = false;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Tensor& operand = b.input(op, i);
    wanted = wanted || b.layout(op, i) == Layout::channels_first;
    const bool same_rank = operand.shape.size() == out.shape.size();
    if (!same_rank && !operand.constant && !operand.shape.empty()) {
      return Layout::source;
    }
  }
  return wanted && out.shape.size() >= 3 ? Layout::channels_first : Layout::source;
}

std::string operand(Builder& b, const Operator& op, std::size_t slot, Layout layout) {
  const Tensor& tensor = b.input(op, slot);
  const std::size_t rank = b.output(op).shape.size();
  if (layout == Layout::source || tensor.shape.empty()) {
    return b.read(op, slot);
  }
  if (tensor.shape.size() == rank) {
    return b.read(op, slot, layout);
  }
  if (is_number(tensor)) {
    return b.read_reshaped(op, slot, {});
  }
  if (tensor.shape.size() > rank) {
    damaged("an operand has more axes than the result");
  }
  Shape shape(rank - tensor.shape.size(), 1);
  shape.insert(shape.end(), tensor.shape.begin(), tensor.shape.end());
  return b.read_reshaped(op, slot, shape, to_channels_first(rank));
}

struct Pair {
  std::string a{}, b{};
  Layout layout = Layout::source;
};

Pair pair(Builder& b, const Operator& op) {
  if (op.inputs.size() != 2) {
    damaged("it has " + std::to_string(op.inputs.size()) + " operands, expected 2");
  }
  const Layout layout = common_layout(b, op);
  std::string first = operand(b, op, 0, layout);
  std::string second = operand(b, op, 1, layout);
  return {.a = std::move(first), .b = std::move(second), .layout = layout};
}

template <const char* kType>
void binary(Builder& b, const Operator& op) {
  const Pair p = pair(b, op);
  b.finish(op, 0, b.node(kType, {p.a, p.b}).out(), p.layout);
}

/// With a fused activation in field 0 of the options.
template <const char* kType>
void fused(Builder& b, const Operator& op) {
  const Pair p = pair(b, op);
  b.finish(op, 0, b.node(kType, {p.a, p.b}).out(), p.layout, op.options.get<std::int8_t>(0, 0));
}

void mul(Builder& b, const Operator& op) {
  const Pair p = pair(b, op);
  const std::string product = settle_product(b, op, b.node("Mul", {p.a, p.b}).out());
  b.finish(op, 0, product, p.layout, op.options.get<std::int8_t>(0, 0));
}

void not_equal(Builder& b, const Operator& op) {
  const Pair p = pair(b, op);
  b.finish(op, 0, b.node("Not", {b.node("Equal", {p.a, p.b}).out()}).out(), p.layout);
}

void squared_difference(Builder& b, const Operator& op) {
  const Pair p = pair(b, op);
  const std::string difference = b.node("Sub", {p.a, p.b}).out();
  b.finish(op, 0, b.node("Mul", {difference, difference}).out(), p.layout);
}

std::string floor_of_quotient(Builder& b, const Pair& p, bool real, Type type) {
  if (real) {
    return b.node("Floor", {b.node("Div", {p.a, p.b}).out()}).out();
  }
  // Integer Div cuts towards 0; float64 holds every int32.
  const std::string a = b.node("Cast", {p.a}).set("to", onnx_type(Type::float64)).out();
  const std::string c = b.node("Cast", {p.b}).set("to", onnx_type(Type::float64)).out();
  const std::string quotient = b.node("Floor", {b.node("Div", {a, c}).out()}).out();
  return b.node("Cast", {quotient}).set("to", onnx_type(type)).out();
}

bool is_real(const Tensor& tensor) { return is_float(tensor.type) || tensor.quantized(); }

void floor_div(Builder& b, const Operator& op) {
  const Pair p = pair(b, op);
  const Tensor& out = b.output(op);
  b.finish(op, 0, floor_of_quotient(b, p, is_real(out), out.type), p.layout);
}

// The result has the sign of the divisor.
void floor_mod(Builder& b, const Operator& op) {
  const Pair p = pair(b, op);
  if (!is_real(b.output(op))) {
    b.finish(op, 0, b.node("Mod", {p.a, p.b}).set("fmod", 0).out(), p.layout);
    return;
  }
  const std::string whole = floor_of_quotient(b, p, true, Type::float32);
  const std::string product = b.node("Mul", {whole, p.b}).out();
  b.finish(op, 0, b.node("Sub", {p.a, product}).out(), p.layout);
}

void add_n(Builder& b, const Operator& op) {
  const Layout layout = common_layout(b, op);
  Names operands;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    operands.push_back(operand(b, op, i, layout));
  }
  if (operands.empty()) {
    damaged("it has no operands");
  }
  b.finish(op, 0, b.node("Sum", operands).out(), layout);
}

// SELECT's condition may be a vector that chooses along the first axis.
void select(Builder& b, const Operator& op) {
  if (op.inputs.size() != 3) {
    damaged("it has " + std::to_string(op.inputs.size()) + " operands, expected 3");
  }
  const Tensor& condition = b.input(op, 0);
  const std::size_t rank = b.output(op).shape.size();
  if (op.code == 64 && condition.shape.size() == 1 && rank > 1) {
    Shape shape(rank, 1);
    shape[0] = condition.shape[0];
    b.finish(op, 0,
             b.node("Where", {b.read_reshaped(op, 0, shape), b.read(op, 1), b.read(op, 2)}).out());
    return;
  }
  const Layout layout = common_layout(b, op);
  const Names operands{operand(b, op, 0, layout), operand(b, op, 1, layout),
                       operand(b, op, 2, layout)};
  b.finish(op, 0, b.node("Where", operands).out(), layout);
}

// PReLU's slope has no batch axis.
void prelu(Builder& b, const Operator& op) {
  const Layout layout = common_layout(b, op);
  const std::string x = operand(b, op, 0, layout);
  const std::string slope = operand(b, op, 1, layout);
  b.finish(op, 0, b.node("PRelu", {x, slope}).out(), layout);
}

constexpr char kAdd[] = "Add", kSub[] = "Sub", kDiv[] = "Div", kMax[] = "Max", kMin[] = "Min",
               kLess[] = "Less", kGreater[] = "Greater", kGreaterOrEqual[] = "GreaterOrEqual",
               kLessOrEqual[] = "LessOrEqual", kEqual[] = "Equal", kPow[] = "Pow", kOr[] = "Or",
               kAnd[] = "And";

constexpr std::array kRows = {OpRow{.code = 0, .read = fused<kAdd>},
                              OpRow{.code = 18, .read = mul},
                              OpRow{.code = 41, .read = fused<kSub>},
                              OpRow{.code = 42, .read = fused<kDiv>},
                              OpRow{.code = 54, .read = prelu},
                              OpRow{.code = 55, .read = binary<kMax>},
                              OpRow{.code = 57, .read = binary<kMin>},
                              OpRow{.code = 58, .read = binary<kLess>},
                              OpRow{.code = 61, .read = binary<kGreater>},
                              OpRow{.code = 62, .read = binary<kGreaterOrEqual>},
                              OpRow{.code = 63, .read = binary<kLessOrEqual>},
                              OpRow{.code = 64, .read = select},
                              OpRow{.code = 71, .read = binary<kEqual>},
                              OpRow{.code = 72, .read = not_equal},
                              OpRow{.code = 78, .read = binary<kPow>},
                              OpRow{.code = 84, .read = binary<kOr>},
                              OpRow{.code = 86, .read = binary<kAnd>},
                              OpRow{.code = 90, .read = floor_div},
                              OpRow{.code = 95, .read = floor_mod},
                              OpRow{.code = 99, .read = squared_difference},
                              OpRow{.code = 106, .read = add_n},
                              OpRow{.code = 123, .read = select}};

}  // namespace

std::span<const OpRow> elementwise_ops() { return kRows; }

}  // namespace halfstep::tflite
