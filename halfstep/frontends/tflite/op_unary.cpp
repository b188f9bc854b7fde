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

constexpr std::array kRows = {
    OpRow{8, unary<kFloor>}, OpRow{14, unary<kSigmoid>}, OpRow{19, unary<kRelu>},
    OpRow{20, relu_n1_to_1}, OpRow{21, relu6},           OpRow{28, unary<kTanh>},
    OpRow{47, unary<kExp>},  OpRow{59, unary<kNeg>},     OpRow{66, unary<kSin>},
    OpRow{73, unary<kLog>},  OpRow{75, unary<kSqrt>},    OpRow{76, rsqrt},
    OpRow{87, unary<kNot>},  OpRow{92, square},          OpRow{98, leaky_relu},
    OpRow{101, unary<kAbs>}, OpRow{104, unary<kCeil>},   OpRow{108, unary<kCos>},
    OpRow{111, unary<kElu>}, OpRow{116, unary<kRound>},  OpRow{117, unary<kHardSwish>},
    OpRow{150, gelu},        OpRow{152, relu_0_to_1},    OpRow{158, unary<kSign>}};

}  // namespace

std::span<const OpRow> unary_ops() { return kRows; }

}  // namespace halfstep::tflite
