#include "halfstep/target_graph.h"

#include <cstddef>
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

qnn::LoweredGraph target_graph(const Model& adapted, const EncodingTable& encodings,
                               const std::unordered_set<std::string>& inner_of_groups,
                               const Target& target) {
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
  return qnn::lower(
      {.model = model, .encodings = encodings, .inner = inner, .nodes = std::move(nodes)});
}

}  // namespace halfstep
