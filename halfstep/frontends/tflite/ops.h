#pragma once

#include <span>
#include <string_view>

#include "halfstep/frontends/tflite/builder.h"

namespace halfstep::tflite {

/// How an operator of the file is said in ONNX.
struct OpRow {
  int code = 0;  ///< BuiltinOperator of schema.fbs
  void (*read)(Builder&, const Operator&) = nullptr;
};

/// The same for a custom operator.
struct CustomRow {
  std::string_view name;
  void (*read)(Builder&, const Operator&) = nullptr;
};

// One family a file, each with its rows at the end.
[[nodiscard]] std::span<const OpRow> convolution_ops();
[[nodiscard]] std::span<const CustomRow> convolution_customs();
[[nodiscard]] std::span<const OpRow> elementwise_ops();
[[nodiscard]] std::span<const OpRow> unary_ops();
[[nodiscard]] std::span<const OpRow> matrix_ops();
[[nodiscard]] std::span<const OpRow> pool_ops();
[[nodiscard]] std::span<const OpRow> shape_ops();
[[nodiscard]] std::span<const OpRow> slice_ops();
[[nodiscard]] std::span<const OpRow> join_ops();
[[nodiscard]] std::span<const OpRow> reduce_ops();
[[nodiscard]] std::span<const OpRow> normalization_ops();
[[nodiscard]] std::span<const OpRow> resize_ops();
[[nodiscard]] std::span<const OpRow> index_ops();
[[nodiscard]] std::span<const OpRow> recurrent_ops();
[[nodiscard]] std::span<const OpRow> conversion_ops();

/// Adds the nodes for `op`. Errors: unsupported if there is no row for it.
void read_operator(Builder& builder, const Operator& op);

/// Adds what SAME padding puts before and after an axis. `size` is that of the axis in the input.
struct Padding {
  std::int64_t before = 0, after = 0;
};
[[nodiscard]] Padding same_padding(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                                   std::int64_t dilation);
/// Field `field` of the options as a number that must be at least 1.
[[nodiscard]] std::int64_t positive(const Operator& op, int field);
/// Does the file ask for SAME padding? Errors: unsupported for other kinds than SAME and VALID.
[[nodiscard]] bool is_same_padding(const Operator& op);

}  // namespace halfstep::tflite
