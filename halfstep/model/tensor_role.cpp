#include "halfstep/model/tensor_role.h"

#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

std::optional<std::int64_t> axis_of(std::int64_t axis, const std::optional<Shape>& shape) {
  if (!shape) {
    return axis < 0 ? std::nullopt : std::optional(axis);
  }
  const auto rank = static_cast<std::int64_t>(shape->size());
  if (axis < -rank || axis >= rank) {
    return std::nullopt;  // a vector has no block axis
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

TensorRole tensor_role(const GraphIndex& index, std::string_view tensor) {
  const onnx::TensorProto* constant = index.constant(tensor);
  TensorRole role{
      .constant = constant != nullptr,
      .shape = constant != nullptr ? std::optional(shape_of(*constant)) : index.type(tensor).shape};
  for (const Consumer& consumer : index.consumers(tensor)) {
    if (consumer.slot < 0) {
      continue;
    }
    const OpFacts facts = op_facts(index.graph().node(consumer.node));
    role.bias = role.bias || facts.bias_slot == consumer.slot;
    if (facts.weight && facts.weight->slot == consumer.slot && !role.weight) {
      role.weight = true;
      role.channel_axis = axis_of(facts.weight->channel_axis, role.shape);
      role.block_axis = axis_of(facts.weight->block_axis, role.shape);
    }
  }
  if (role.constant && !role.channel_axis) {
    role.channel_axis = axis_of(0, role.shape);
  }
  return role;
}

}  // namespace halfstep
