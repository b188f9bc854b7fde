#include "halfstep/frontends/tflite/inference.h"

#include <set>
#include <utility>

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include "halfstep/support/error.h"

namespace halfstep::tflite {
namespace {

constexpr int kOpset = 21;  // the newest that is written
// Content up to this size is read by shape inference: axes, extents.
constexpr std::size_t kReadBytes = 4096;

onnx::TypeProto type_of(const onnx::TensorProto& constant) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(constant.data_type());
  auto& shape = *type.mutable_tensor_type()->mutable_shape();
  for (const std::int64_t size : constant.dims()) {
    shape.add_dim()->set_dim_value(size);
  }
  return type;
}

/// "Conv: Dimension ... [ShapeInferenceError] ..." without the marks of the library.
std::string plain(std::string text) {
  for (const char* mark : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.erase(at, std::string_view(mark).size());
    }
  }
  return text.substr(0, text.find('\n'));
}

[[noreturn]] void misfit(const std::string& what) { throw Error(ErrorKind::invalid_file, what); }

}  // namespace

void Inference::add(const std::string& value, const onnx::TypeProto& type) {
  if (!type.has_tensor_type()) {
    return;
  }
  types_[value] = type;
  if (!type.tensor_type().has_shape()) {
    return;
  }
  Shape shape;
  for (const auto& dimension : type.tensor_type().shape().dim()) {
    if (dimension.has_dim_value() && dimension.dim_value() < 0) {
      misfit("would make " + std::to_string(dimension.dim_value()) + " values along an axis");
    }
    shape.push_back(dimension.has_dim_value() ? dimension.dim_value() : -1);
  }
  shapes_[value] = std::move(shape);
}

void Inference::add_constants(const onnx::GraphProto& graph) {
  for (; initializers_ < graph.initializer_size(); ++initializers_) {
    const onnx::TensorProto& constant = graph.initializer(initializers_);
    types_[constant.name()] = type_of(constant);
    constants_[constant.name()] = initializers_;
  }
}

void Inference::advance(const onnx::GraphProto& graph) {
  if (nodes_ == 0) {
    for (const auto& input : graph.input()) {
      add(input.name(), input.type());
    }
  }
  add_constants(graph);
  onnx::ModelProto part;
  part.set_ir_version(10);
  part.add_opset_import()->set_version(kOpset);
  onnx::GraphProto& nodes = *part.mutable_graph();
  std::set<std::string> known;
  for (; nodes_ < graph.node_size(); ++nodes_) {
    const onnx::NodeProto& node = graph.node(nodes_);
    for (const std::string& name : node.input()) {
      if (name.empty() || !known.insert(name).second) {
        continue;
      }
      const auto constant = constants_.find(name);
      if (constant != constants_.end() &&
          graph.initializer(constant->second).raw_data().size() <= kReadBytes) {
        *nodes.add_initializer() = graph.initializer(constant->second);
      } else if (const auto type = types_.find(name); type != types_.end()) {
        auto& input = *nodes.add_input();
        input.set_name(name);
        *input.mutable_type() = type->second;
      }
    }
    known.insert(node.output().begin(), node.output().end());
    *nodes.add_node() = node;
  }
  if (nodes.node_size() == 0) {
    return;
  }
  try {
    onnx::shape_inference::InferShapes(part, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(true, 1, true), &extents_);
  } catch (const std::exception& error) {
    misfit("has operands that do not fit each other: " + plain(error.what()));
  }
  for (const auto& value : nodes.value_info()) {
    add(value.name(), value.type());
  }
}

int Inference::type(const std::string& value) const {
  const auto found = types_.find(value);
  return found == types_.end() ? 0 : found->second.tensor_type().elem_type();
}

const Shape* Inference::shape(const std::string& value) const {
  const auto found = shapes_.find(value);
  return found == shapes_.end() ? nullptr : &found->second;
}

}  // namespace halfstep::tflite
