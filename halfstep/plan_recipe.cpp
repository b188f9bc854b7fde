#include "halfstep/plan_recipe.h"

#include <algorithm>
#include <set>
#include <vector>

#include "halfstep/model/visit.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// The names a rule could have meant, for the closest match.
std::vector<std::string> candidates(const RecipeRule& rule, const GraphIndex& graph) {
  std::set<std::string> names;
  for_each_graph(graph.graph(), [&](const onnx::GraphProto& part) {
    for (const onnx::NodeProto& node : part.node()) {
      if (rule.kind == MatchKind::node || rule.kind == MatchKind::any) {
        names.insert(node.name());
      }
      if (rule.kind == MatchKind::op || rule.kind == MatchKind::any) {
        names.insert(node.op_type());
      }
    }
  });
  if (rule.kind == MatchKind::tensor || rule.kind == MatchKind::any) {
    const std::vector<std::string> tensors = graph.tensor_names();
    names.insert(tensors.begin(), tensors.end());
  }
  return {names.begin(), names.end()};
}

}  // namespace

bool RecipeView::selects_any_node(const RecipeRule& rule) const {
  bool used = false;
  for_each_graph(graph_.graph(), [&](const onnx::GraphProto& part) {
    used = used || std::any_of(part.node().begin(), part.node().end(), [&](const auto& node) {
             return rule.selects_node(node.name(), node.op_type());
           });
  });
  return used;
}

const RecipeRule* RecipeView::float_rule(const onnx::NodeProto& node) const {
  const RecipeRule* decided = nullptr;
  for (const RecipeRule& rule : recipe_.rules) {
    if (rule.activation && rule.selects_node(node.name(), node.op_type())) {
      decided = rule.activation->has_value() ? nullptr : &rule;
    }
  }
  return decided;
}

const RecipeRule* RecipeView::activation_rule(const std::string& tensor) const {
  const RecipeRule* last = nullptr;
  const int producer = graph_.producer(tensor);
  for (const RecipeRule& rule : recipe_.rules) {
    if (!rule.activation) {
      continue;
    }
    // A rule on a node that keeps it float says nothing of what others need of its output.
    const bool by_node = producer >= 0 && rule.activation->has_value() &&
                         rule.selects_node(graph_.graph().node(producer).name(),
                                           graph_.graph().node(producer).op_type());
    if (by_node || rule.selects_tensor(tensor)) {
      last = &rule;
    }
  }
  return last;
}

SpecOrFloat RecipeView::activation(const std::string& tensor) const {
  const RecipeRule* rule = activation_rule(tensor);
  return rule == nullptr ? recipe_.activation : *rule->activation;
}

const RecipeRule* RecipeView::float_activation_rule(const std::string& tensor) const {
  const RecipeRule* rule = activation_rule(tensor);
  return rule == nullptr || rule->activation->has_value() ? nullptr : rule;
}

bool RecipeView::names_activation(const std::string& tensor) const {
  return std::any_of(recipe_.rules.begin(), recipe_.rules.end(), [&](const RecipeRule& rule) {
    return rule.activation && rule.selects_tensor(tensor);
  });
}

const RecipeRule* RecipeView::weight_rule(const onnx::NodeProto& node,
                                          const std::string& tensor) const {
  const RecipeRule* last = nullptr;
  for (const RecipeRule& rule : recipe_.rules) {
    if (rule.weight &&
        (rule.selects_node(node.name(), node.op_type()) || rule.selects_tensor(tensor))) {
      last = &rule;
    }
  }
  return last;
}

SpecOrFloat RecipeView::weight(const onnx::NodeProto& node, const std::string& tensor) const {
  const RecipeRule* rule = weight_rule(node, tensor);
  return rule == nullptr ? recipe_.weight : *rule->weight;
}

const RecipeRule* RecipeView::float_weight_rule(const onnx::NodeProto& node,
                                                const std::string& tensor) const {
  const RecipeRule* rule = weight_rule(node, tensor);
  return rule == nullptr || rule->weight->has_value() ? nullptr : rule;
}

void RecipeView::check_rules() const {
  const std::vector<std::string> tensors = graph_.tensor_names();
  for (const RecipeRule& rule : recipe_.rules) {
    bool used = std::any_of(tensors.begin(), tensors.end(),
                            [&](const std::string& tensor) { return rule.selects_tensor(tensor); });
    used = used || selects_any_node(rule);
    if (used) {
      continue;
    }
    const std::string close = closest_match(rule.glob, candidates(rule, graph_));
    throw Error(ErrorKind::invalid_argument,
                rule.origin + ": \"" + rule.glob +
                    "\" matches no node, operator or tensor of the model" +
                    (close.empty() ? "; `halfstep inspect` lists them"
                                   : "; did you mean \"" + close + "\"?"));
  }
}

}  // namespace halfstep
