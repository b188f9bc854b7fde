#include "halfstep/target_graph.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "halfstep/adaptation/lowering.h"
#include "halfstep/adaptation/prepare/movement_nodes.h"
#include "halfstep/adaptation/state.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/node_keys.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// Some exporters write -1 for a free extent.
bool is_known(const onnx::TensorShapeProto::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() > 0;
}

void set_extents(const std::string& input, const Shape& given, onnx::TensorShapeProto& shape) {
  require(shape.dim_size() == static_cast<int>(given.size()),
          "input '" + input + "' has " + std::to_string(shape.dim_size()) +
              " axes, and the extents given for it are " + to_text(given));
  for (int i = 0; i < shape.dim_size(); ++i) {
    onnx::TensorShapeProto::Dimension& dim = *shape.mutable_dim(i);
    const std::int64_t extent = given[static_cast<std::size_t>(i)];
    require(extent > 0 && (!is_known(dim) || dim.dim_value() == extent),
            "extent " + std::to_string(extent) + " of axis " + std::to_string(i) + " of input '" +
                input + "' does not fit" +
                (is_known(dim) ? ": the model says " + std::to_string(dim.dim_value())
                               : "; extents are 1 or more"));
    dim.set_dim_value(extent);
  }
}

/// Extents that former inferences wrote down are computed anew.
void forget_extents(onnx::GraphProto& graph) {
  graph.clear_value_info();
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    if (output.type().has_tensor_type()) {
      for (auto& dim :
           *output.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
        if (!is_known(dim)) {
          dim.clear_value();
        }
      }
    }
  }
}

}  // namespace

void fix_input_extents(Model& model, const std::map<std::string, Shape>& given,
                       Diagnostics& diagnostics) {
  std::set<std::string> left;
  for (const auto& [name, shape] : given) {
    left.insert(name);
  }
  bool changed = false;
  for (onnx::ValueInfoProto& input : *model.graph().mutable_input()) {
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape()) {
      continue;
    }
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    const auto wanted = given.find(input.name());
    if (wanted != given.end()) {
      set_extents(input.name(), wanted->second, shape);
      left.erase(input.name());
      changed = true;
    } else if (shape.dim_size() > 0 && !is_known(shape.dim(0))) {
      shape.mutable_dim(0)->set_dim_value(1);
      changed = true;
      diagnostics.push_back(
          {.severity = Severity::note,
           .rule = "lower/batch-of-one",
           .subject = input.name(),
           .message = "input '" + input.name() +
                      "' has no fixed batch, the graph of the target has one of 1"});
    }
  }
  require(left.empty(), "extents are given for '" + (left.empty() ? "" : *left.begin()) +
                            "', which is no input of the model with known rank");
  if (changed) {
    forget_extents(model.graph());
  }
}

qnn::LoweredGraph target_graph(const Model& adapted, const EncodingTable& encodings,
                               const std::unordered_set<std::string>& inner_of_groups,
                               const Target& target, bool block_scales) {
  require(target.kernels() != nullptr,
          "target " + target.name() +
              " has no tables of kernels, so there is no graph of its operators; take an HTP "
              "target ('halfstep targets' lists them)");
  Model model = adapted.clone();
  std::unordered_set<std::string> inner = inner_of_groups;
  put_movement_operators(model, inner);
  const GraphIndex graph(model);
  const NodeKeys keys(model.graph());
  const auto weight = [&](int node) -> const Encoding* {
    const onnx::NodeProto& proto = graph.graph().node(node);
    const OpFacts facts = op_facts(proto);
    if (!facts.weight || facts.weight->slot >= proto.input_size()) {
      return nullptr;
    }
    const auto slot = static_cast<std::size_t>(facts.weight->slot);
    return encodings.find_use({.node = keys.key(node), .slot = slot},
                              proto.input(facts.weight->slot));
  };
  std::vector<qnn::NodeOp> nodes;
  const std::vector<LoweredNode> lowered = lower_nodes(graph, *target.kernels(), weight);
  for (std::size_t i = 0; i < lowered.size(); ++i) {
    if (is_convert(graph.graph().node(static_cast<int>(i)))) {
      nodes.push_back({.op = qnn::kConvertOp, .operands = {0}});
    } else if (lowered[i].row != nullptr) {
      nodes.push_back({.op = lowered[i].op(), .operands = lowered[i].operands});
    } else {
      nodes.emplace_back();
    }
  }
  return qnn::lower({.model = model,
                     .encodings = encodings,
                     .inner = inner,
                     .nodes = std::move(nodes),
                     .block_scales = block_scales});
}

}  // namespace halfstep
