#include <array>

#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

struct Value {
  std::string name{};
  Layout layout = Layout::source;
};

Value value(Builder& b, const Operator& op) {
  const Layout layout = b.layout(op, 0);
  return {.name = b.read(op, 0, layout), .layout = layout};
}

template <const char* kType>
void unary(Builder& b, const Operator& op) {
  const Value x = value(b, op);
  b.finish(op, 0, b.node(kType, {x.name}).out(), x.layout);
}

void clip(Builder& b, const Operator& op, float low, float high) {
  const Value x = value(b, op);
  b.finish(op, 0, b.node("Clip", {x.name, b.scalar(low), b.scalar(high)}).out(), x.layout);
}
void relu6(Builder& b, const Operator& op) { clip(b, op, 0.0F, 6.0F); }
void relu_n1_to_1(Builder& b, const Operator& op) { clip(b, op, -1.0F, 1.0F); }
void relu_0_to_1(Builder& b, const Operator& op) { clip(b, op, 0.0F, 1.0F); }

void rsqrt(Builder& b, const Operator& op) {
  const Value x = value(b, op);
  b.finish(op, 0, b.node("Reciprocal", {b.node("Sqrt", {x.name}).out()}).out(), x.layout);
}

void square(Builder& b, const Operator& op) {
  const Value x = value(b, op);
  b.finish(op, 0, b.node("Mul", {x.name, x.name}).out(), x.layout);
}

void leaky_relu(Builder& b, const Operator& op) {
  const Value x = value(b, op);
  const auto alpha = op.options.get<float>(0, 0.0F);
  b.finish(op, 0, b.node("LeakyRelu", {x.name}).set("alpha", alpha).out(), x.layout);
}

void gelu(Builder& b, const Operator& op) {
  const Value x = value(b, op);
  const bool approximate = op.options.get<std::uint8_t>(0, 0) != 0;
  NodeRef node = b.node("Gelu", {x.name}).set("approximate", approximate ? "tanh" : "none");
  b.finish(op, 0, node.out(), x.layout);
}

constexpr char kFloor[] = "Floor", kSigmoid[] = "Sigmoid", kRelu[] = "Relu", kTanh[] = "Tanh",
               kExp[] = "Exp", kNeg[] = "Neg", kSin[] = "Sin", kLog[] = "Log", kSqrt[] = "Sqrt",
               kNot[] = "Not", kAbs[] = "Abs", kCeil[] = "Ceil", kCos[] = "Cos", kElu[] = "Elu",
               kRound[] = "Round", kHardSwish[] = "HardSwish", kSign[] = "Sign";

constexpr std::array kRows = {OpRow{.code = 8, .read = unary<kFloor>},
                              OpRow{.code = 14, .read = unary<kSigmoid>},
                              OpRow{.code = 19, .read = unary<kRelu>},
                              OpRow{.code = 20, .read = relu_n1_to_1},
                              OpRow{.code = 21, .read = relu6},
                              OpRow{.code = 28, .read = unary<kTanh>},
                              OpRow{.code = 47, .read = unary<kExp>},
                              OpRow{.code = 59, .read = unary<kNeg>},
                              OpRow{.code = 66, .read = unary<kSin>},
                              OpRow{.code = 73, .read = unary<kLog>},
                              OpRow{.code = 75, .read = unary<kSqrt>},
                              OpRow{.code = 76, .read = rsqrt},
                              OpRow{.code = 87, .read = unary<kNot>},
                              OpRow{.code = 92, .read = square},
                              OpRow{.code = 98, .read = leaky_relu},
                              OpRow{.code = 101, .read = unary<kAbs>},
                              OpRow{.code = 104, .read = unary<kCeil>},
                              OpRow{.code = 108, .read = unary<kCos>},
                              OpRow{.code = 111, .read = unary<kElu>},
                              OpRow{.code = 116, .read = unary<kRound>},
                              OpRow{.code = 117, .read = unary<kHardSwish>},
                              OpRow{.code = 150, .read = gelu},
                              OpRow{.code = 152, .read = relu_0_to_1},
                              OpRow{.code = 158, .read = unary<kSign>}};

}  // namespace

std::span<const OpRow> unary_ops() { return kRows; }

}  // namespace halfstep::tflite
