#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/model/op_facts.h"
#include "halfstep/plan.h"
#include "halfstep/plan_recipe.h"

namespace halfstep {

/// Collects the constants of a plan: weights with their axes, constant operands, biases.
class WeightPlanner {
 public:
  WeightPlanner(const Model& model, const GraphIndex& graph, const Recipe& recipe,
                const RecipeView& view, Diagnostics& diagnostics)
      : model_(model), graph_(graph), recipe_(recipe), view_(view), diagnostics_(diagnostics) {}

  /// The weight of a node as its operator's row says; nothing if it is not a float32 constant.
  void add_weight(int node);
  /// True if `slot` is the weight slot of the node (then it is dealt with).
  bool add_weight_at(int node, int slot);
  /// A constant operand that is no weight: per tensor, in the type of the activations.
  void add_operand(int node, int slot);
  /// The bias of the op `head`, read by `use`: only where input and weight are planned as integers.
  void add_bias(Plan& plan, int head, Consumer use);
  /// The collected weights, in the order of the graph.
  [[nodiscard]] std::vector<PlannedWeight> take() { return std::move(weights_); }

 private:
  [[nodiscard]] QuantizationSpec with_axes(const QuantizationSpec& spec, const WeightFacts& facts,
                                           const Shape& shape) const;
  [[nodiscard]] QuantizationSpec fitting_spec(const QuantizationSpec& spec,
                                              const WeightFacts& facts, const Shape& shape,
                                              int node, const std::string& tensor);
  std::size_t add(const std::string& tensor, const QuantizationSpec& spec, Consumer use);

  const Model& model_;
  const GraphIndex& graph_;
  const Recipe& recipe_;
  const RecipeView& view_;
  Diagnostics& diagnostics_;
  std::vector<PlannedWeight> weights_{};
  std::map<std::string, std::vector<std::size_t>> by_tensor_{};
  std::map<std::pair<int, int>, std::size_t> by_use_{};  // (node, slot) -> weight
};

}  // namespace halfstep
