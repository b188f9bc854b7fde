#pragma once

#include <string>

#include "halfstep/calibration/recipe.h"
#include "halfstep/model/graph_index.h"

namespace halfstep {

/// The recipe's answer for single tensors and nodes of one graph: base spec, then every matching
/// rule.
class RecipeView {
 public:
  RecipeView(const Recipe& recipe, const GraphIndex& graph) : recipe_(recipe), graph_(graph) {}

  /// The rule that keeps this node float, or null.
  [[nodiscard]] const RecipeRule* float_rule(int node) const {
    return float_rule(graph_.graph().node(node));
  }
  /// The same for a node that may stand in a body.
  [[nodiscard]] const RecipeRule* float_rule(const onnx::NodeProto& node) const;
  /// What the value of an activation is stored as.
  [[nodiscard]] SpecOrFloat activation(const std::string& tensor) const;
  /// A rule speaks of this very tensor (it then does not just carry its neighbour's encoding).
  [[nodiscard]] bool names_activation(const std::string& tensor) const;
  [[nodiscard]] SpecOrFloat weight(int node, const std::string& tensor) const {
    return weight(graph_.graph().node(node), tensor);
  }
  [[nodiscard]] SpecOrFloat weight(const onnx::NodeProto& node, const std::string& tensor) const;
  /// The rule that keeps this activation or this weight float, or null.
  [[nodiscard]] const RecipeRule* float_activation_rule(const std::string& tensor) const;
  [[nodiscard]] const RecipeRule* float_weight_rule(const onnx::NodeProto& node,
                                                    const std::string& tensor) const;
  /// Errors: invalid_argument for the first rule that selects no node and no tensor, with the
  /// closest name.
  void check_rules() const;

 private:
  /// The last rule that speaks of this activation or weight, or null: the recipe's default holds.
  [[nodiscard]] const RecipeRule* activation_rule(const std::string& tensor) const;
  [[nodiscard]] const RecipeRule* weight_rule(const onnx::NodeProto& node,
                                              const std::string& tensor) const;
  [[nodiscard]] bool selects_any_node(const RecipeRule& rule) const;
  const Recipe& recipe_;
  const GraphIndex& graph_;
};

}  // namespace halfstep
