#include <array>
#include <string>

#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

void gather(Builder& b, const Operator& op) {
  const std::size_t rank = b.input(op, 0).shape.size();
  const std::int64_t axis = checked_axis(op.options.get<std::int32_t>(0, 0), rank);
  if (op.options.get<std::int32_t>(1, 0) != 0) {
    refuse("batches of indices are not read");
  }
  b.finish(op, 0, b.node("Gather", {b.read(op, 0), b.read(op, 1)}).set("axis", axis).out());
}

void embedding_lookup(Builder& b, const Operator& op) {
  b.finish(op, 0, b.node("Gather", {b.read(op, 1), b.read(op, 0)}).set("axis", 0).out());
}

void gather_nd(Builder& b, const Operator& op) {
  b.finish(op, 0, b.node("GatherND", {b.read(op, 0), b.read_int64(op, 1)}).out());
}

// Where several updates name one place, TFLite adds them up.
void scatter_nd(Builder& b, const Operator& op) {
  const Tensor& updates = b.input(op, 1);
  const std::string zero = b.scalar(0.0F, updates.quantized() ? Type::float32 : updates.type);
  const std::string empty = b.node("Expand", {zero, b.read_int64(op, 2)}).out();
  NodeRef node = b.node("ScatterND", {empty, b.read_int64(op, 0), b.read(op, 1)});
  b.finish(op, 0, node.set("reduction", "add").out());
}

void topk(Builder& b, const Operator& op) {
  const Ints k = b.integers(op, 1);
  if (k.size() != 1 || op.outputs.size() != 2) {
    damaged("its count is not one number, or it does not have two results");
  }
  const NodeRef node = b.node("TopK", {b.read(op, 0), b.constant(k)}, 2).set("axis", -1);
  const std::string values = node.out(0);
  const std::string places = node.out(1);
  b.finish(op, 0, values);
  b.finish(op, 1, b.node("Cast", {places}).set("to", onnx_type(b.output(op, 1).type)).out());
}

void one_hot(Builder& b, const Operator& op) {
  const Ints depth = b.integers(op, 1);
  if (depth.size() != 1) {
    damaged("its depth is not one number");
  }
  const std::string off = b.node("Unsqueeze", {b.read(op, 3), b.constant({0})}).out();
  const std::string on = b.node("Unsqueeze", {b.read(op, 2), b.constant({0})}).out();
  const std::string values = b.node("Concat", {off, on}).set("axis", 0).out();
  const std::int64_t axis = op.options.get<std::int32_t>(0, 0);
  b.finish(
      op, 0,
      b.node("OneHot", {b.read_int64(op, 0), b.constant(depth), values}).set("axis", axis).out());
}

void where(Builder& b, const Operator& op) {
  const std::string places = b.transpose(b.node("NonZero", {b.read(op, 0)}).out(), {1, 0});
  b.finish(op, 0, b.node("Cast", {places}).set("to", onnx_type(b.output(op).type)).out());
}

void range(Builder& b, const Operator& op) {
  Names operands;
  for (std::size_t i = 0; i < 3; ++i) {
    operands.push_back(b.read_reshaped(op, i, {}));
  }
  b.finish(op, 0, b.node("Range", operands).out());
}

void reverse_sequence(Builder& b, const Operator& op) {
  const auto time = op.options.get<std::int32_t>(0, 0);
  const auto batch = op.options.get<std::int32_t>(1, 0);
  if (time < 0 || batch < 0 || time > 1 || batch > 1 || time == batch) {
    refuse("its sequence and batch are not the first two axes");
  }
  b.finish(op, 0,
           b.node("ReverseSequence", {b.read(op, 0), b.read_int64(op, 1)})
               .set("time_axis", std::int64_t{time})
               .set("batch_axis", std::int64_t{batch})
               .out());
}

constexpr std::array kRows = {OpRow{.code = 7, .read = embedding_lookup},
                              OpRow{.code = 36, .read = gather},
                              OpRow{.code = 48, .read = topk},
                              OpRow{.code = 85, .read = one_hot},
                              OpRow{.code = 96, .read = range},
                              OpRow{.code = 107, .read = gather_nd},
                              OpRow{.code = 109, .read = where},
                              OpRow{.code = 112, .read = reverse_sequence},
                              OpRow{.code = 122, .read = scatter_nd}};

}  // namespace

std::span<const OpRow> index_ops() { return kRows; }

}  // namespace halfstep::tflite
