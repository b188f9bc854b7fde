#include <array>
#include <utility>

#include "halfstep/frontends/tflite/arithmetic.h"
#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

/// [..., K] times [N, K]: a Gemm if the result has two axes, else MatMul and Add.
void fully_connected(Builder& b, const Operator& op) {
  const Tensor& x = b.input(op, 0);
  const Tensor& w = b.input(op, 1);
  if (op.options.get<std::int8_t>(1, 0) != 0) {
    refuse("its weights are shuffled for one kind of processor");
  }
  require_rank(w, 2);
  const bool keep = op.options.get<std::uint8_t>(2, 0) != 0 && x.shape.size() > 2;
  const int activation = op.options.get<std::int8_t>(0, 0);
  const bool bias = b.has_input(op, 2);
  const auto rows = [&](const std::string& value) {
    return is_dynamic_range(b, op, 0, 1)
               ? quantize_dynamically(b, value, x.shape.size(), DynamicRange::row, -1)
               : value;
  };
  if (keep) {
    const std::string product =
        b.node("MatMul", {rows(b.read(op, 0)), b.read_permuted(op, 1, {1, 0})}).out();
    b.finish(op, 0, bias ? b.node("Add", {product, b.read(op, 2)}).out() : product, Layout::source,
             activation);
    return;
  }
  const bool flat = x.shape.size() == 2 && x.shape[1] == w.shape[1];
  Names operands{rows(flat ? b.read(op, 0) : b.read_reshaped(op, 0, {-1, w.shape[1]})),
                 b.read(op, 1)};
  if (x.constant) {
    refuse("its input is a constant");
  }
  if (bias) {
    operands.push_back(b.read(op, 2));
  }
  std::string y = b.node("Gemm", operands).set("transB", 1).out();
  const Tensor& out = b.output(op);
  if (out.shape.size() != 2 && !out.dynamic) {
    y = b.reshape(y, out.shape);
  }
  b.finish(op, 0, std::move(y), Layout::source, activation);
}

std::string matrix(Builder& b, const Operator& op, std::size_t slot, bool turned) {
  const std::size_t rank = b.input(op, slot).shape.size();
  if (rank < 2) {
    damaged("an operand has fewer than 2 axes");
  }
  if (!turned) {
    return b.read(op, slot);
  }
  Ints order;
  for (std::size_t k = 0; k < rank; ++k) {
    order.push_back(static_cast<std::int64_t>(k));
  }
  std::swap(order[rank - 1], order[rank - 2]);
  return b.read_permuted(op, slot, order);
}

void batch_matmul(Builder& b, const Operator& op) {
  std::string x = matrix(b, op, 0, op.options.get<std::uint8_t>(0, 0) != 0);
  if (is_dynamic_range(b, op, 0, 1)) {
    x = quantize_dynamically(b, x, b.input(op, 0).shape.size(), DynamicRange::row, -1);
  }
  const std::string y = matrix(b, op, 1, op.options.get<std::uint8_t>(1, 0) != 0);
  b.finish(op, 0, b.node("MatMul", {x, y}).out());
}

constexpr std::array kRows = {OpRow{.code = 9, .read = fully_connected},
                              OpRow{.code = 126, .read = batch_matmul}};

}  // namespace

std::span<const OpRow> matrix_ops() { return kRows; }

}  // namespace halfstep::tflite
