#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/adaptation/lowering.h"
#include "halfstep/model/static_view.h"
#include "halfstep/plan_regions.h"

namespace halfstep {
namespace {

std::vector<LoweredNode> lowered_nodes(const GraphIndex& graph, const Target& target) {
  return lower_nodes(graph, *target.kernels(), [](int) { return nullptr; });
}

bool in_chain(const Target& target, const LoweredNode& lowered) {
  const std::vector<ChainOp>& chains = target.kernels()->chains;
  return lowered.row != nullptr &&
         std::any_of(chains.begin(), chains.end(),
                     [&lowered](const ChainOp& op) { return op.op == lowered.op(); });
}

}  // namespace

Regions whole_graph_regions(const GraphIndex& graph, const RecipeView& recipe,
                            const Target& target) {
  const auto count = static_cast<std::size_t>(graph.graph().node_size());
  Regions regions{.nodes = std::vector<NodePlan>(count),
                  .float_output = std::vector<bool>(count, false)};
  const std::vector<LoweredNode> lowered = lowered_nodes(graph, target);
  for (std::size_t i = 0; i < count; ++i) {
    const onnx::NodeProto& op = graph.graph().node(static_cast<int>(i));
    const std::vector<int> slots = data_slots(graph, op);
    if (slots.empty() || !writes_float(graph, op)) {
      continue;
    }
    NodePlan& plan = regions.nodes[i];
    if (const RecipeRule* rule = recipe.float_rule(static_cast<int>(i))) {
      plan.float_reason = "kept float by " + rule->origin;
    } else if (lowered[i].row == nullptr) {
      plan.float_reason = "no operator for " + op.op_type() + " on " + target.name();
    } else if (!recipe.activation(op.output(0))) {
      plan.float_reason = "the recipe keeps activations float";
      plan.weight_only = true;
    } else if (in_chain(target, lowered[i]) && static_constant(graph, op.input(0)) == nullptr) {
      plan.carries = true;
    } else {
      plan.quantized = true;
    }
  }
  return regions;
}

GraphStructure planned_structure(const GraphIndex& graph, const RecipeView& recipe,
                                 const Target& target) {
  const auto usable = [&recipe](int node) { return recipe.float_rule(node) == nullptr; };
  if (target.kernels() == nullptr) {
    return GraphStructure(graph, target, usable);
  }
  const std::vector<LoweredNode> lowered = lowered_nodes(graph, target);
  return GraphStructure(
      graph, target, usable,
      [&lowered](int node) {
        const LoweredNode& found = lowered[static_cast<std::size_t>(node)];
        return found.row == nullptr ? std::string() : found.op();
      },
      [&recipe](const std::string& tensor) {
        const SpecOrFloat spec = recipe.activation(tensor);
        return spec ? std::optional<Dtype>(spec->dtype) : std::nullopt;
      },
      [](const std::string&) { return false; });
}

}  // namespace halfstep
