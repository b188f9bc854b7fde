#pragma once

#include <string>
#include <vector>

#include "halfstep/plan.h"
#include "halfstep/plan_recipe.h"

namespace halfstep {

/// Where the quantized regions of a graph are: the node decisions of a Plan.
struct Regions {
  std::vector<NodePlan> nodes{};
  /// By node index: its outputs need no encoding (a kernel that can write float, read by float ops
  /// only).
  std::vector<bool> float_output{};
};

/// Forward: which nodes could compute on integers (their inputs come from such nodes or from the
/// graph's inputs). Backward: ops that are quantized only inside a region stay so only if a
/// quantized op, or the graph's output, wants their result. An operand that is a constant keeps
/// such an op float, unless nothing else in the graph could be quantized: then the user means these
/// ops; if even that finds nothing, they are quantized between float ops, too.
[[nodiscard]] Regions find_regions(const Model& model, const GraphIndex& graph,
                                   const RecipeView& recipe, const Target& target,
                                   const GraphStructure& structure);

/// The same for a target with tables of kernels: every node that computes floats is quantized,
/// unless the user wants it float; along the target's chains of data movement encodings are
/// carried.
[[nodiscard]] Regions whole_graph_regions(const GraphIndex& graph, const RecipeView& recipe,
                                          const Target& target);

/// How the target's super groups lie in a graph that the recipe quantizes.
[[nodiscard]] GraphStructure planned_structure(const GraphIndex& graph, const RecipeView& recipe,
                                               const Target& target);

/// Input slots that hold float data of a node: no parameters, no bias, not of an integer type.
[[nodiscard]] std::vector<int> data_slots(const GraphIndex& graph, const onnx::NodeProto& node);

/// Does any output hold floats, or values of an unknown type? (Shape and comparisons read floats
/// but write none.)
[[nodiscard]] bool writes_float(const GraphIndex& graph, const onnx::NodeProto& node);

}  // namespace halfstep
