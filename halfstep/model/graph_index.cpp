#include "halfstep/model/graph_index.h"

#include <cstdint>
#include <exception>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <onnx/shape_inference/implementation.h>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/qti_ops.h"
#include "halfstep/model/visit.h"

namespace halfstep {
namespace {

constexpr std::int64_t kOverridableSince = 4;  // IR version: initializers may be overridden inputs

// Adds the names that `graph` takes from around it: used, but neither an input nor made inside.
void add_outer_names(const onnx::GraphProto& graph, std::set<std::string_view>& names) {
  std::unordered_set<std::string_view> own;
  for (const auto& input : graph.input()) {
    own.insert(input.name());
  }
  for (const auto& initializer : graph.initializer()) {
    own.insert(initializer.name());
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    own.insert(sparse.values().name());
  }
  const auto use = [&](std::string_view name) {
    if (!name.empty() && !own.contains(name)) {
      names.insert(name);
    }
  };
  for (const auto& node : graph.node()) {
    std::set<std::string_view> inner;
    for (const auto& attribute : node.attribute()) {
      for_each_graph_in(attribute, [&inner](const auto& below) { add_outer_names(below, inner); });
    }
    for (const auto& name : node.input()) {
      use(name);
    }
    for (const std::string_view name : inner) {
      use(name);
    }
    own.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.output()) {
    use(output.name());
  }
}

// The value of a Constant node given as a plain attribute.
bool constant_from_attribute(const onnx::AttributeProto& attribute, onnx::TensorProto& tensor) {
  const std::string& name = attribute.name();
  if (name == "value_float") {
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(attribute.f());
  } else if (name == "value_floats") {
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(attribute.floats_size());
    *tensor.mutable_float_data() = attribute.floats();
  } else if (name == "value_int") {
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_int64_data(attribute.i());
  } else if (name == "value_ints") {
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(attribute.ints_size());
    *tensor.mutable_int64_data() = attribute.ints();
  } else if (name == "value_string") {
    tensor.set_data_type(onnx::TensorProto::STRING);
    tensor.add_string_data(attribute.s());
  } else if (name == "value_strings") {
    tensor.set_data_type(onnx::TensorProto::STRING);
    tensor.add_dims(attribute.strings_size());
    *tensor.mutable_string_data() = attribute.strings();
  } else {
    return false;
  }
  return true;
}

TensorType type_of(const onnx::TypeProto& type) {
  if (!type.has_tensor_type()) {
    return {};
  }
  TensorType result{.elem_type = type.tensor_type().elem_type()};
  if (type.tensor_type().has_shape()) {
    Shape shape;
    for (const auto& dim : type.tensor_type().shape().dim()) {
      shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
    }
    result.shape = std::move(shape);
  }
  return result;
}

// Types that shape inference finds, on a copy without weights. A model on which it fails keeps what
// the file says.
onnx::GraphProto infer(const Model& model) {
  register_qti_ops();
  const auto attempt = [&model](bool propagate) {
    onnx::ModelProto copy = model.proto();
    const onnx::ShapeInferenceOptions options(false, 0, propagate);
    onnx::shape_inference::DataValueMap values;
    onnx::shape_inference::InferShapes(copy, onnx::OpSchemaRegistry::Instance(), options,
                                       propagate ? &values : nullptr);
    return std::move(*copy.mutable_graph());
  };
  for (const bool propagate : {true, false}) {
    try {
      return attempt(propagate);
    } catch (const std::exception&) {
      continue;
    }
  }
  return model.graph();
}

}  // namespace

GraphIndex::GraphIndex(const Model& model) : graph_(&model.graph()) {
  for (const auto& input : graph_->input()) {
    facts(input.name()).is_input = true;
  }
  add_constants(model.proto().ir_version());
  add_nodes();
  for (const auto& output : graph_->output()) {
    facts(output.name()).is_output = true;
  }
  add_types(infer(model));
}

GraphIndex::TensorFacts& GraphIndex::facts(const std::string& tensor) {
  const auto [entry, is_new] = tensors_.try_emplace(tensor);
  if (is_new) {
    order_.push_back(entry->first);
  }
  return entry->second;
}

const GraphIndex::TensorFacts* GraphIndex::find(std::string_view tensor) const {
  const auto entry = tensors_.find(tensor);
  return entry == tensors_.end() ? nullptr : &entry->second;
}

void GraphIndex::add_constants(std::int64_t ir_version) {
  for (const auto& initializer : graph_->initializer()) {
    TensorFacts& tensor = facts(initializer.name());
    if (!tensor.is_input || ir_version < kOverridableSince) {
      tensor.constant = &initializer;
    }
    tensor.type = {.elem_type = initializer.data_type(), .shape = shape_of(initializer)};
  }
  for (const auto& sparse : graph_->sparse_initializer()) {
    facts(sparse.values().name()).type = {
        .elem_type = sparse.values().data_type(),
        .shape = Shape(sparse.dims().begin(), sparse.dims().end())};
  }
}

void GraphIndex::add_nodes() {
  for (int i = 0; i < graph_->node_size(); ++i) {
    const onnx::NodeProto& node = graph_->node(i);
    for (int slot = 0; slot < node.input_size(); ++slot) {
      if (!node.input(slot).empty()) {
        facts(node.input(slot)).consumers.push_back({.node = i, .slot = slot});
      }
    }
    std::set<std::string_view> inner;
    for (const auto& attribute : node.attribute()) {
      for_each_graph_in(attribute, [&inner](const auto& graph) { add_outer_names(graph, inner); });
    }
    for (const std::string_view name : inner) {
      facts(std::string(name)).consumers.push_back({.node = i, .slot = -1});
    }
    for (const auto& output : node.output()) {
      if (!output.empty()) {
        facts(output).producer = i;
      }
    }
    add_constant_node(node);
  }
}

void GraphIndex::add_constant_node(const onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || !is_onnx_domain(node) || node.output_size() != 1 ||
      node.attribute_size() != 1) {
    return;
  }
  const onnx::AttributeProto& attribute = node.attribute(0);
  TensorFacts& tensor = facts(node.output(0));
  onnx::TensorProto made;
  if (attribute.name() == "value" && attribute.has_t()) {
    tensor.constant = &attribute.t();
  } else if (constant_from_attribute(attribute, made)) {
    made.set_name(node.output(0));
    tensor.constant = &made_.emplace_back(std::move(made));
  }
}

void GraphIndex::add_types(const onnx::GraphProto& inferred) {
  const auto add = [this](const onnx::ValueInfoProto& value) {
    const auto entry = tensors_.find(value.name());
    if (entry == tensors_.end()) {
      return;
    }
    TensorType& known = entry->second.type;
    TensorType found = type_of(value.type());
    if (known.elem_type == 0) {
      known.elem_type = found.elem_type;
    }
    if (!known.shape) {
      known.shape = std::move(found.shape);
    }
  };
  for (const auto& value : inferred.input()) {
    add(value);
  }
  for (const auto& value : inferred.output()) {
    add(value);
  }
  for (const auto& value : inferred.value_info()) {
    add(value);
  }
}

int GraphIndex::producer(std::string_view tensor) const {
  const TensorFacts* found = find(tensor);
  return found == nullptr ? -1 : found->producer;
}

std::span<const Consumer> GraphIndex::consumers(std::string_view tensor) const {
  const TensorFacts* found = find(tensor);
  return found == nullptr ? std::span<const Consumer>() : std::span(found->consumers);
}

const onnx::TensorProto* GraphIndex::constant(std::string_view tensor) const {
  const TensorFacts* found = find(tensor);
  return found == nullptr ? nullptr : found->constant;
}

bool GraphIndex::is_graph_input(std::string_view tensor) const {
  const TensorFacts* found = find(tensor);
  return found != nullptr && found->is_input;
}

bool GraphIndex::is_graph_output(std::string_view tensor) const {
  const TensorFacts* found = find(tensor);
  return found != nullptr && found->is_output;
}

TensorType GraphIndex::type(std::string_view tensor) const {
  const TensorFacts* found = find(tensor);
  return found == nullptr ? TensorType() : found->type;
}

std::vector<std::string> GraphIndex::tensor_names() const { return {order_.begin(), order_.end()}; }

std::string GraphIndex::label(int node) const {
  const onnx::NodeProto& proto = graph_->node(node);
  if (!proto.name().empty()) {
    return proto.op_type() + " '" + proto.name() + "'";
  }
  for (const auto& output : proto.output()) {
    if (!output.empty()) {
      return proto.op_type() + " (writes '" + output + "')";
    }
  }
  return proto.op_type() + " (node " + std::to_string(node) + ")";
}

NameMaker::NameMaker(const onnx::GraphProto& graph) {
  for_each_graph(graph, [this](const onnx::GraphProto& part) {
    const auto take_values = [this](const auto& values) {
      for (const auto& value : values) {
        taken_.insert(value.name());
      }
    };
    take_values(part.input());
    take_values(part.output());
    take_values(part.value_info());
    take_values(part.initializer());
    for (const auto& sparse : part.sparse_initializer()) {
      taken_.insert(sparse.values().name());
    }
    for (const auto& node : part.node()) {
      taken_.insert(node.name());
      taken_.insert(node.input().begin(), node.input().end());
      taken_.insert(node.output().begin(), node.output().end());
    }
  });
}

std::string NameMaker::fresh(std::string_view base) {
  std::string name(base);
  int& next = next_[name];
  while (!taken_.insert(name).second) {
    name = std::string(base) + "_" + std::to_string(++next);
  }
  return name;
}

int make_node_names_unique(onnx::GraphProto& graph) {
  std::unordered_set<std::string> seen;
  std::vector<onnx::NodeProto*> repeated;
  for_each_graph(graph, [&](onnx::GraphProto& part) {
    for (auto& node : *part.mutable_node()) {
      if (!node.name().empty() && !seen.insert(node.name()).second) {
        repeated.push_back(&node);
      }
    }
  });
  if (!repeated.empty()) {
    NameMaker names(graph);
    for (onnx::NodeProto* node : repeated) {
      node->set_name(names.fresh(node->name()));
    }
  }
  return static_cast<int>(repeated.size());
}

}  // namespace halfstep
