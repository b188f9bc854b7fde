#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/support/tensor_view.h"

namespace halfstep {

/// A tensor in the middle of being computed.
struct ConstantValue {
  int data_type = 0;
  Shape shape{};
  std::vector<std::byte> bytes{};  ///< as raw_data
};

/// One node that only moves or converts the values of its first input.
struct ConstantStep {
  const onnx::NodeProto* node = nullptr;
  std::vector<std::int64_t> numbers{};  ///< its second input (shape or axes), if it has one
};

/// Can apply_step() compute the node, given the values of its second input?
[[nodiscard]] bool is_constant_step(const onnx::NodeProto& node);

/// Empty if the node's attributes or numbers do not fit the value.
[[nodiscard]] std::optional<ConstantValue> apply_step(const ConstantStep& step,
                                                      ConstantValue value);

}  // namespace halfstep
