#include "halfstep/plan.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"
#include "halfstep/model/values.h"
#include "halfstep/plan_fixed_ranges.h"
#include "halfstep/plan_recipe.h"
#include "halfstep/plan_regions.h"
#include "halfstep/plan_weights.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

class Planner {
 public:
  Planner(const Model& model, const GraphIndex& graph, const Recipe& recipe, const Target& target,
          Diagnostics& diagnostics)
      : model_(model),
        graph_(graph),
        recipe_(recipe),
        target_(target),
        view_(recipe, graph),
        structure_(planned_structure(graph, view_, target)),
        regions_(target.kernels() == nullptr ? find_regions(model, graph, view_, target, structure_)
                                             : whole_graph_regions(graph, view_, target)),
        weights_(model, graph, recipe, view_, diagnostics) {}

  Plan make() {
    view_.check_rules();
    require_operators(recipe_.fixed_ranges);
    require_operators(target_.fixed_ranges());
    plan_.nodes = regions_.nodes;
    for (int node = 0; node < graph_.graph().node_size(); ++node) {
      note_inner(node);
      plan_node(node);
      weights_.warn_of_replaceable(node);
      weights_.add_body_weights(node, target_);
    }
    plan_.weights = weights_.take();
    plan_.float_weights = weights_.take_float();
    return std::move(plan_);
  }

 private:
  const onnx::NodeProto& proto(int node) const { return graph_.graph().node(node); }

  void note_inner(int node) {
    for (const std::string& output : proto(node).output()) {
      if (structure_.is_inner(output)) {
        plan_.inner.insert(output);
      }
    }
  }

  void plan_node(int node) {
    const NodePlan& decision = plan_.nodes[static_cast<std::size_t>(node)];
    if (decision.weight_only) {
      weights_.add_weights(node);
    } else if (decision.quantized) {
      plan_inputs(node);
      plan_outputs(node, std::string());
    } else if (decision.carries) {
      add_activation(proto(node).input(0), std::string());
      plan_outputs(node, source_of(proto(node).input(0)));
    }
  }

  void plan_inputs(int node) {
    const onnx::NodeProto& op = proto(node);
    const int bias_slot = group_bias_slot(node);
    for (const int slot : data_slots(graph_, op)) {
      if (slot == bias_slot) {
        continue;
      }
      if (static_constant(graph_, op.input(slot)) == nullptr) {
        add_activation(op.input(slot), std::string());
      } else if (is_mirrored(op, slot) || !weights_.add_weight_at(node, slot)) {
        weights_.add_operand(node, slot);
      }
    }
    plan_bias(node, bias_slot);
  }

  /// A constant in the place of the activation: kernels take one scale for it.
  static bool is_mirrored(const onnx::NodeProto& op, int slot) {
    const OpFacts facts = op_facts(op);
    return facts.mirrored && facts.mirrored->slot == slot;
  }

  /// In a group whose second stage adds the bias: that input slot of this node, else -1.
  int group_bias_slot(int node) const {
    const FoundGroup* group = structure_.group_of(node);
    const bool adds = group != nullptr && group->pattern->bias && group->nodes[1] == node;
    return adds ? constant_bias_slot(graph_, proto(node)) : -1;
  }

  void plan_bias(int node, int group_slot) {
    if (!recipe_.quantize_bias) {
      return;
    }
    if (group_slot >= 0) {
      const int head = structure_.group_of(node)->nodes[0];
      weights_.add_bias(plan_, head, {.node = node, .slot = group_slot});
      return;
    }
    const std::optional<int> slot = op_facts(proto(node)).bias_slot;
    if (slot && *slot < proto(node).input_size()) {
      weights_.add_bias(plan_, node, {.node = node, .slot = *slot});
    }
  }

  void plan_outputs(int node, const std::string& source) {
    if (regions_.float_output[static_cast<std::size_t>(node)]) {
      return;
    }
    for (const std::string& output : proto(node).output()) {
      const int type = graph_.type(output).elem_type;
      if (!output.empty() && (type == 0 || is_float_type(type)) && !structure_.is_inner(output)) {
        add_activation(output, source);
      }
    }
  }

  std::string source_of(const std::string& tensor) const {
    const auto found = sources_.find(tensor);
    return found == sources_.end() || found->second.empty() ? tensor : found->second;
  }

  void add_activation(const std::string& tensor, std::string source) {
    if (structure_.is_inner(tensor) || sources_.contains(tensor)) {
      return;
    }
    SpecOrFloat spec = view_.activation(tensor);
    if (!spec) {
      return;
    }
    fix_range(*spec, tensor, recipe_.fixed_ranges, model_, graph_);
    fix_range(*spec, tensor, target_.fixed_ranges(), model_, graph_);
    if (!source.empty() && view_.names_activation(tensor)) {
      source.clear();  // the user wants this one to have its own encoding
    }
    require(std::holds_alternative<PerTensor>(spec->granularity),
            "recipe " + recipe_.name + ": activation '" + tensor +
                "': activations are quantized per tensor, found granularity " +
                to_json(spec->granularity).dump());
    try {
      plan_.activations.push_back(
          {.tensor = tensor, .spec = resolve(*spec, Role::activation), .source = source});
    } catch (const Error& error) {
      throw error.within("recipe " + recipe_.name + ": activation '" + tensor + "'");
    }
    sources_.emplace(tensor, std::move(source));
  }

  const Model& model_;
  const GraphIndex& graph_;
  const Recipe& recipe_;
  const Target& target_;
  RecipeView view_;
  GraphStructure structure_;
  Regions regions_;
  WeightPlanner weights_;
  Plan plan_{};
  std::unordered_map<std::string, std::string> sources_{};  // planned activation -> whose encoding
};

}  // namespace

Plan make_plan(const Model& model, const GraphIndex& graph, const Recipe& recipe,
               const Target& target, Diagnostics& diagnostics) {
  return Planner(model, graph, recipe, target, diagnostics).make();
}

}  // namespace halfstep
