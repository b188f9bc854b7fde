#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

void cast(Builder& b, const Operator& op) {
  const Layout layout = b.layout(op, 0);
  const Tensor& y = b.output(op);
  const int type = onnx_type(y.quantized() ? Type::float32 : y.type);
  b.finish(op, 0, b.node("Cast", {b.read(op, 0, layout)}).set("to", type).out(), layout);
}

void quantize(Builder& b, const Operator& op) {
  if (!b.output(op).quantized()) {
    refuse("its result has no scale");
  }
  b.forward(op);
}

// A constant stays one: float16 weights become float32, integers keep their encoding.
void dequantize(Builder& b, const Operator& op) {
  const Tensor& x = b.input(op, 0);
  if (!x.constant) {
    if (!x.quantized()) {
      refuse("its input has no scale");
    }
    b.forward(op);
    return;
  }
  if (x.quantized()) {
    b.forward_constant(op, x.type, {x.data.begin(), x.data.end()});
    return;
  }
  const std::vector<float> values = b.floats(op.inputs[0]);
  std::vector<std::byte> content(values.size() * sizeof(float));
  if (!values.empty()) {
    std::memcpy(content.data(), values.data(), content.size());
  }
  b.forward_constant(op, Type::float32, std::move(content));
}

// The reader of the file has made sparse constants dense.
void densify(Builder& b, const Operator& op) {
  const Tensor& x = b.input(op, 0);
  if (!x.constant) {
    refuse("its input is computed");
  }
  b.forward_constant(op, x.type, {x.data.begin(), x.data.end()});
}

constexpr std::array kRows = {OpRow{.code = 6, .read = dequantize}, OpRow{.code = 53, .read = cast},
                              OpRow{.code = 114, .read = quantize},
                              OpRow{.code = 124, .read = densify}};

}  // namespace

std::span<const OpRow> conversion_ops() { return kRows; }

}  // namespace halfstep::tflite
