#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/model/op_facts.h"
#include "halfstep/plan.h"
#include "halfstep/plan_recipe.h"
#include "halfstep/targets/target.h"

namespace halfstep {

/// Collects the constants of a plan: weights with their axes, constant operands, biases.
class WeightPlanner {
 public:
  WeightPlanner(const Model& model, const GraphIndex& graph, const Recipe& recipe,
                const RecipeView& view, Diagnostics& diagnostics)
      : model_(model), graph_(graph), recipe_(recipe), view_(view), diagnostics_(diagnostics) {
    for (const auto& initializer : graph.graph().initializer()) {
      if (graph.is_graph_input(initializer.name()) &&
          graph.constant(initializer.name()) == nullptr) {
        defaults_.insert(initializer.name());
      }
    }
  }

  /// True if `slot` is the weight slot of the node (then it is dealt with).
  bool add_weight_at(int node, int slot);
  /// Every weight of a node, without its activations.
  void add_weights(int node);
  /// Warns of weights of a node that stay float because callers may replace them.
  void warn_of_replaceable(int node);
  /// The weights of operators in the bodies of `holder`, as far as the target stores weights of
  /// such operators as integers and they are constants of the main graph.
  void add_body_weights(int holder, const Target& target);
  /// A constant operand that is no weight: per tensor, in the type of the activations.
  void add_operand(int node, int slot);
  /// The bias of the op `head`, read by `use`: only where input and weight are planned as integers.
  void add_bias(Plan& plan, int head, Consumer use);
  /// The collected weights, in the order of the graph.
  [[nodiscard]] std::vector<PlannedWeight> take() { return std::move(weights_); }

  /// Those that rules keep float.
  [[nodiscard]] std::vector<FloatWeight> take_float() { return std::move(float_weights_); }

 private:
  void keep_float(const onnx::NodeProto& node, const std::string& tensor);
  void add_weight_of_body(int holder, const onnx::NodeProto& node, int slot);
  [[nodiscard]] QuantizationSpec with_axes(const QuantizationSpec& spec, const WeightFacts& facts,
                                           const Shape& shape) const;
  [[nodiscard]] QuantizationSpec fitting_spec(const QuantizationSpec& spec,
                                              const WeightFacts& facts, const Shape& shape,
                                              int node, const std::string& tensor);
  std::size_t add(const std::string& tensor, const QuantizationSpec& spec, Consumer use,
                  std::int64_t channel_axis);

  const Model& model_;
  const GraphIndex& graph_;
  const Recipe& recipe_;
  const RecipeView& view_;
  Diagnostics& diagnostics_;
  std::set<std::string> defaults_{};  // initializers that are also inputs that callers may give
  std::vector<PlannedWeight> weights_{};
  std::vector<FloatWeight> float_weights_{};
  std::map<std::string, std::vector<std::size_t>> by_tensor_{};
  std::map<std::pair<int, int>, std::size_t> by_use_{};  // (node, slot) -> weight
};

}  // namespace halfstep
