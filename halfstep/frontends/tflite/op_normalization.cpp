#include <array>

#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

struct LastAxis {
  std::string value{};
  Layout layout = Layout::source;
  std::int64_t axis = -1;
};

/// The operand, and where its last axis of the file is.
LastAxis last_axis(Builder& b, const Operator& op) {
  const std::size_t rank = b.input(op, 0).shape.size();
  if (rank == 0) {
    damaged("its input has no axes");
  }
  const Layout layout = b.layout(op, 0);
  std::string value = b.read(op, 0, layout);
  return {.value = std::move(value),
          .layout = layout,
          .axis = axis_in(layout, static_cast<std::int64_t>(rank) - 1, rank)};
}

void softmax(Builder& b, const Operator& op) {
  LastAxis x = last_axis(b, op);
  const auto beta = op.options.get<float>(0, 0.0F);
  if (beta != 1.0F) {
    x.value = b.node("Mul", {x.value, b.scalar(beta)}).out();
  }
  b.finish(op, 0, b.node("Softmax", {x.value}).set("axis", x.axis).out(), x.layout);
}

void log_softmax(Builder& b, const Operator& op) {
  const LastAxis x = last_axis(b, op);
  b.finish(op, 0, b.node("LogSoftmax", {x.value}).set("axis", x.axis).out(), x.layout);
}

// x / max(|x|, 1e-6) along the last axis. Source: LiteRT's reference kernel.
void l2_normalization(Builder& b, const Operator& op) {
  const LastAxis x = last_axis(b, op);
  const std::string norm =
      b.node("ReduceL2", {x.value, b.constant({x.axis})}).set("keepdims", 1).out();
  const std::string safe = b.node("Max", {norm, b.scalar(1e-6F)}).out();
  b.finish(op, 0, b.node("Div", {x.value, safe}).out(), x.layout,
           op.options.get<std::int8_t>(0, 0));
}

// TFLite's alpha belongs to each square of the window, ONNX's to their mean.
void local_response_normalization(Builder& b, const Operator& op) {
  require_rank(b.input(op, 0), 4);
  const auto radius = op.options.get<std::int32_t>(0, 0);
  if (radius < 0 || radius > 1048576) {
    damaged("its radius is " + std::to_string(radius));
  }
  const std::int64_t size = 2 * std::int64_t{radius} + 1;
  const std::string x = b.read(op, 0, Layout::channels_first);
  b.finish(op, 0,
           b.node("LRN", {x})
               .set("size", size)
               .set("bias", op.options.get<float>(1, 0.0F))
               .set("alpha", op.options.get<float>(2, 0.0F) * static_cast<float>(size))
               .set("beta", op.options.get<float>(3, 0.0F))
               .out(),
           Layout::channels_first);
}

constexpr std::array kRows = {OpRow{.code = 11, .read = l2_normalization},
                              OpRow{.code = 13, .read = local_response_normalization},
                              OpRow{.code = 25, .read = softmax},
                              OpRow{.code = 50, .read = log_softmax}};

}  // namespace

std::span<const OpRow> normalization_ops() { return kRows; }

}  // namespace halfstep::tflite
