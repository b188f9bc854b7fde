#include "halfstep/simulation/follow.h"

#include <algorithm>
#include <cstring>
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
  result.zero_points.assign(result.scales.size(), 0.0F);
  if (node.input_size() > 2 && !node.input(2).empty()) {
    const onnx::TensorProto* zero_point = index.constant(node.input(2));
    if (zero_point == nullptr) {
      return std::nullopt;
    }
    result.zero_points = model.floats(*zero_point);
    result.zero_points.resize(result.scales.size(),
                              result.zero_points.empty() ? 0.0F : result.zero_points.front());
  }
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

std::optional<Codes> Following::clamped_result(std::string tensor) const {
  for (int hops = 0; hops < 3; ++hops) {
    const int reader = only_reader(tensor);
    if (reader < 0) {
      return std::nullopt;
    }
    const onnx::NodeProto& next = node(reader);
    if (next.op_type() == "QuantizeLinear") {
      std::optional<Codes> found = result(next);
      return found && found->is_activation() ? found : std::nullopt;
    }
    if (next.op_type() != "Relu" && next.op_type() != "Clip") {
      return std::nullopt;
    }
    tensor = next.output(0);
  }
  return std::nullopt;
}

std::string Following::scalar(const std::string& name, float value) {
  std::vector<std::byte> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  std::string fresh = names.fresh(name);
  editor.add_initializer(fresh, Dtype::float32, {}, std::move(bytes));
  return fresh;
}

std::string Following::insert(int before, const std::string& type,
                              const std::vector<std::string>& inputs, const std::string& name,
                              const std::string& output) {
  onnx::NodeProto made;
  made.set_op_type(type);
  made.set_name(names.fresh(name + "_node"));
  for (const std::string& input : inputs) {
    made.add_input(input);
  }
  std::string result = output.empty() ? names.fresh(name) : output;
  made.add_output(result);
  if (type == "Cast") {
    onnx::AttributeProto& to = *made.add_attribute();
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(onnx::TensorProto::FLOAT);
  }
  editor.insert_before(before, std::move(made));
  return result;
}

}  // namespace halfstep::simulation
