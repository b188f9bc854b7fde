#include "halfstep/adaptation/prepare/graph_parts.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/visit.h"

namespace halfstep {
namespace {

constexpr std::int64_t kOverridableSince = 4;  // IR version: initializers may be overridden inputs

/// The value of a Constant node, or null.
const onnx::TensorProto* constant_value(const onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || !is_onnx_domain(node) || node.output_size() != 1) {
    return nullptr;
  }
  const onnx::AttributeProto* value = find_attribute(node, "value");
  return value != nullptr && value->has_t() ? &value->t() : nullptr;
}

}  // namespace

ConstantScope::ConstantScope(const onnx::GraphProto& graph, std::int64_t ir_version,
                             const ConstantScope* outer)
    : outer_(outer) {
  for (const auto& input : graph.input()) {
    own_.emplace(input.name(), nullptr);
  }
  for (const onnx::TensorProto& initializer : graph.initializer()) {
    if (!own_.contains(initializer.name()) || ir_version < kOverridableSince) {
      own_[initializer.name()] = &initializer;
    }
  }
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      own_.emplace(output, constant_value(node));
    }
  }
}

const onnx::TensorProto* ConstantScope::constant(const std::string& name) const {
  const auto found = own_.find(name);
  if (found != own_.end()) {
    return found->second;
  }
  return outer_ == nullptr ? nullptr : outer_->constant(name);
}

GraphReaders::GraphReaders(const onnx::GraphProto& graph) {
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    for (int slot = 0; slot < node.input_size(); ++slot) {
      readers_[node.input(slot)].push_back({.node = i, .slot = slot});
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      for_each_graph_in(attribute, [&](const onnx::GraphProto& body) {
        for_each_graph(body, [&](const onnx::GraphProto& part) {
          for (const onnx::NodeProto& inner : part.node()) {
            for (const std::string& input : inner.input()) {
              readers_[input].push_back({.node = i, .slot = -1});
            }
          }
          for (const auto& output : part.output()) {
            readers_[output.name()].push_back({.node = i, .slot = -1});
          }
        });
      });
    }
  }
  for (const auto& output : graph.output()) {
    readers_[output.name()].push_back({.node = graph.node_size(), .slot = -2});
  }
}

const std::vector<GraphReader>& GraphReaders::of(const std::string& tensor) const {
  static const std::vector<GraphReader> nobody;
  const auto found = readers_.find(tensor);
  return found == readers_.end() ? nobody : found->second;
}

bool may_compute_beforehand(const onnx::NodeProto& node) {
  static constexpr std::array<std::string_view, 11> kExcluded{
      "Constant",     "QuantizeLinear",   "DequantizeLinear", "DynamicQuantizeLinear",
      "RandomNormal", "RandomNormalLike", "RandomUniform",    "RandomUniformLike",
      "Bernoulli",    "Multinomial",      "Dropout"};
  const bool has_body = std::any_of(
      node.attribute().begin(), node.attribute().end(),
      [](const auto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; });
  return !has_body && is_onnx_domain(node) && node.input_size() > 0 &&
         std::find(kExcluded.begin(), kExcluded.end(), node.op_type()) == kExcluded.end();
}

void remove_nodes(onnx::GraphProto& graph, const std::set<int>& removed) {
  auto& nodes = *graph.mutable_node();
  int kept = 0;
  for (int i = 0; i < nodes.size(); ++i) {
    if (!removed.contains(i)) {
      nodes.SwapElements(kept++, i);
    }
  }
  nodes.DeleteSubrange(kept, nodes.size() - kept);
}

void remove_initializers(onnx::GraphProto& graph, const std::set<std::string>& names) {
  auto& initializers = *graph.mutable_initializer();
  int kept = 0;
  for (int i = 0; i < initializers.size(); ++i) {
    if (!names.contains(initializers.Get(i).name())) {
      initializers.SwapElements(kept++, i);
    }
  }
  initializers.DeleteSubrange(kept, initializers.size() - kept);
}

void remove_unread(onnx::GraphProto& graph, const std::set<std::string>& names,
                   ConstantScope& scope) {
  const GraphReaders readers(graph);
  std::set<std::string> unread;
  for (const std::string& name : names) {
    if (readers.of(name).empty() && scope.is_own(name) && scope.constant(name) != nullptr) {
      unread.insert(name);
    }
  }
  // Before IR 4 every initializer is an input, too; there a constant is no input that callers know.
  auto& inputs = *graph.mutable_input();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                              [&](const auto& input) { return unread.contains(input.name()); }),
               inputs.end());
  std::set<int> nodes;
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.output_size() == 1 && unread.contains(node.output(0))) {
      nodes.insert(i);
    }
  }
  for (const std::string& name : unread) {
    scope.remove(name);
  }
  remove_initializers(graph, unread);
  remove_nodes(graph, nodes);
}

void add_input(onnx::GraphProto& graph, const onnx::TensorProto& tensor) {
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(tensor.name());
  onnx::TypeProto_Tensor& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(tensor.data_type());
  onnx::TensorShapeProto& shape = *type.mutable_shape();
  for (const std::int64_t extent : tensor.dims()) {
    shape.add_dim()->set_dim_value(extent);
  }
}

std::vector<std::int64_t> int64_values(const Model& model, const onnx::TensorProto& tensor) {
  const TensorBytes bytes = model.data(tensor);
  std::vector<std::int64_t> values(bytes.size() / sizeof(std::int64_t));
  std::memcpy(values.data(), bytes.span().data(), values.size() * sizeof(std::int64_t));
  return values;
}

}  // namespace halfstep
