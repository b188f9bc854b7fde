#include "halfstep/model/widen.h"

#include <cstdint>
#include <vector>

#include "halfstep/model/values.h"
#include "halfstep/model/visit.h"

namespace halfstep {
namespace {

constexpr int kFloat = onnx::TensorProto::FLOAT;

bool is_other_float(std::int64_t type) {
  return type != kFloat && is_float_type(static_cast<int>(type));
}

void widen(onnx::TypeProto& type) {
  if (type.has_tensor_type() && is_other_float(type.tensor_type().elem_type())) {
    type.mutable_tensor_type()->set_elem_type(kFloat);
  } else if (type.has_sequence_type()) {
    widen(*type.mutable_sequence_type()->mutable_elem_type());
  } else if (type.has_optional_type()) {
    widen(*type.mutable_optional_type()->mutable_elem_type());
  }
}

void widen_values(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  for (onnx::ValueInfoProto& value : values) {
    widen(*value.mutable_type());
  }
}

}  // namespace

bool has_other_floats(const Model& model) {
  bool found = false;
  for_each_tensor(model.proto(), [&found](const onnx::TensorProto& tensor) {
    found = found || is_other_float(tensor.data_type());
  });
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    found = found || is_other_float(input.type().tensor_type().elem_type());
  }
  return found;
}

Model widened(const Model& model) {
  Model wide = model.clone();
  for_each_tensor(wide.proto(), [&wide](onnx::TensorProto& tensor) {
    if (!is_other_float(tensor.data_type())) {
      return;
    }
    const std::vector<float> values = wide.floats(tensor);
    wide.drop(tensor);
    tensor.set_data_type(kFloat);
    wide.set_data(tensor, floats_as_bytes(values, kFloat));
  });
  for_each_graph_of_model(wide.proto(), [](onnx::GraphProto& graph) {
    widen_values(*graph.mutable_input());
    widen_values(*graph.mutable_output());
    widen_values(*graph.mutable_value_info());
  });
  for_each_node(wide.proto(), [](onnx::NodeProto& node) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if ((attribute.name() == "to" || attribute.name() == "dtype") &&
          is_other_float(attribute.i())) {
        attribute.set_i(kFloat);
      }
    }
  });
  return wide;
}

}  // namespace halfstep
