#include "halfstep/simulation/follow.h"

#include <algorithm>
#include <utility>

#include "halfstep/model/values.h"
#include "halfstep/simulation/target_ops.h"

namespace halfstep::simulation {

TargetNode::TargetNode(std::string_view type, std::string name) {
  node_.set_domain(std::string(kDomain));
  node_.set_op_type(std::string(type));
  node_.set_name(std::move(name));
}

TargetNode& TargetNode::input(const std::string& tensor) {
  node_.add_input(tensor);
  return *this;
}

TargetNode& TargetNode::output(const std::string& tensor) {
  node_.add_output(tensor);
  return *this;
}

onnx::AttributeProto& TargetNode::add(std::string_view name,
                                      onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node_.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

TargetNode& TargetNode::set(std::string_view attribute, std::int64_t value) {
  add(attribute, onnx::AttributeProto::INT).set_i(value);
  return *this;
}

TargetNode& TargetNode::set(std::string_view attribute, float value) {
  add(attribute, onnx::AttributeProto::FLOAT).set_f(value);
  return *this;
}

TargetNode& TargetNode::set(std::string_view attribute, const std::vector<float>& values) {
  add(attribute, onnx::AttributeProto::FLOATS)
      .mutable_floats()
      ->Assign(values.begin(), values.end());
  return *this;
}

std::optional<Codes> Following::codes(const onnx::NodeProto& node,
                                      const std::string& stored) const {
  const onnx::TensorProto* scale = index.constant(node.input(1));
  if (scale == nullptr || int_attribute(node, "block_size", 0) > 0) {
    return std::nullopt;
  }
  Codes result{.scales = model.floats(*scale),
               .axis = int_attribute(node, "axis", 1),
               .type = index.type(stored).elem_type};
  const std::optional<Shape> shape = index.type(node.input(0)).shape;
  if (result.axis < 0 && shape) {
    result.axis += static_cast<std::int64_t>(shape->size());
  }
  const bool usable =
      !result.scales.empty() && std::ranges::all_of(result.scales, [](float s) { return s > 0; });
  return usable ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Codes> Following::operand(const std::string& tensor) const {
  const int producer = index.producer(tensor);
  if (producer < 0 || node(producer).op_type() != "DequantizeLinear") {
    return std::nullopt;
  }
  return codes(node(producer), node(producer).input(0));
}

bool Following::is_constant_operand(const std::string& tensor) const {
  const int producer = index.producer(tensor);
  return producer >= 0 && node(producer).op_type() == "DequantizeLinear" &&
         index.constant(node(producer).input(0)) != nullptr;
}

std::optional<Codes> Following::result(const onnx::NodeProto& quantize) const {
  return codes(quantize, quantize.output(0));
}

int Following::only_reader(std::string_view tensor) const {
  const auto readers = index.consumers(tensor);
  return readers.size() == 1 && readers[0].slot >= 0 && !index.is_graph_output(tensor)
             ? readers[0].node
             : -1;
}

}  // namespace halfstep::simulation
