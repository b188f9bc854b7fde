#include "halfstep/frontends/tflite/ops.h"

#include <algorithm>
#include <array>
#include <string>

#include "halfstep/support/error.h"

namespace halfstep::tflite {
namespace {

constexpr int kCustom = 32;

constexpr std::array kFamilies = {convolution_ops, elementwise_ops,   unary_ops,  matrix_ops,
                                  pool_ops,        shape_ops,         slice_ops,  join_ops,
                                  reduce_ops,      normalization_ops, resize_ops, index_ops,
                                  recurrent_ops,   conversion_ops};

// Operators that can't be said, and why.
std::string reason(int code) {
  switch (code) {
    case 118:  // IF
    case 119:  // WHILE
    case 31:   // CALL
      return "control flow with several graphs is not read";
    case 129:  // CALL_ONCE
    case 142:  // VAR_HANDLE
    case 143:  // READ_VARIABLE
    case 144:  // ASSIGN_VARIABLE
      return "the model keeps variables from run to run, which an ONNX graph can't; export it with "
             "its state as inputs and outputs";
    case 136:
    case 137:
    case 138:
    case 139:
      return "hash tables are not read";
    default:
      return "there is no rule how to say it in ONNX; docs/tflite.md lists the operators that are "
             "read";
  }
}

}  // namespace

void read_operator(Builder& builder, const Operator& op) {
  if (op.code == kCustom) {
    for (const CustomRow& row : convolution_customs()) {
      if (row.name == op.custom) {
        row.read(builder, op);
        return;
      }
    }
    refuse("the custom operator '" + op.custom + "' is not known");
  }
  for (const auto& family : kFamilies) {
    for (const OpRow& row : family()) {
      if (row.code == op.code) {
        row.read(builder, op);
        return;
      }
    }
  }
  refuse(reason(op.code));
}

Padding same_padding(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                     std::int64_t dilation) {
  const std::int64_t steps = (size + stride - 1) / stride;
  const std::int64_t total =
      std::max<std::int64_t>((steps - 1) * stride + (kernel - 1) * dilation + 1 - size, 0);
  return {.before = total / 2, .after = total - total / 2};
}

std::int64_t positive(const Operator& op, int field) {
  const auto value = op.options.get<std::int32_t>(field, 1);
  if (value < 1 || value > 16777216) {
    damaged("a stride, dilation or kernel size is " + std::to_string(value));
  }
  return value;
}

bool is_same_padding(const Operator& op) {
  const int padding = op.options.get<std::int8_t>(0, 0);
  if (padding != 0 && padding != 1) {
    refuse("its padding " + std::to_string(padding) + " is neither SAME nor VALID");
  }
  return padding == 0;
}

}  // namespace halfstep::tflite
