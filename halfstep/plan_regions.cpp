#include "halfstep/plan_regions.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"
#include "halfstep/model/values.h"

namespace halfstep {
namespace {

/// How far the search for quantized regions goes; each step is tried only if the one before finds
/// nothing in the whole graph.
enum class Reach : std::uint8_t {
  connected,       ///< regions around the operators that a target always quantizes
  with_constants,  ///< also operators with a constant operand
  alone,           ///< also operators that stand between float ones
};

/// 0 if unknown.
int element_type(const GraphIndex& graph, const std::string& tensor) {
  const onnx::TensorProto* constant = graph.constant(tensor);
  return constant != nullptr ? constant->data_type() : graph.type(tensor).elem_type;
}

class RegionFinder {
 public:
  RegionFinder(const Model& model, const GraphIndex& graph, const RecipeView& recipe,
               const Target& target, const GraphStructure& structure, Reach reach)
      : model_(model),
        graph_(graph),
        recipe_(recipe),
        target_(target),
        structure_(structure),
        reach_(reach) {
    const auto count = static_cast<std::size_t>(graph.graph().node_size());
    regions_.nodes.resize(count);
    regions_.float_output.assign(count, false);
  }

  Regions find() {
    for (int node = 0; node < graph_.graph().node_size(); ++node) {
      forward(node);
    }
    for (int node = graph_.graph().node_size() - 1; node >= 0; --node) {
      backward(node);
    }
    return std::move(regions_);
  }

 private:
  NodePlan& plan(int node) { return regions_.nodes[static_cast<std::size_t>(node)]; }
  const onnx::NodeProto& proto(int node) const { return graph_.graph().node(node); }

  bool ready(const std::string& tensor) const {
    return ready_.contains(tensor) || graph_.is_graph_input(tensor);
  }

  void mark_ready(int node) {
    for (const std::string& output : proto(node).output()) {
      ready_.insert(output);
    }
  }

  void forward(int node) {
    const FoundGroup* group = structure_.group_of(node);
    if (group != nullptr && group->nodes.front() != node) {
      plan(node) = plan(group->nodes.front());
      plan(node).weight_only = false;
      if (plan(node).quantized) {
        mark_ready(node);
      }
      return;
    }
    decide(node);
    if (plan(node).quantized || plan(node).carries) {
      mark_ready(node);
    }
  }

  void decide(int node) {
    const onnx::NodeProto& op = proto(node);
    NodePlan& decision = plan(node);
    const std::vector<int> slots = data_slots(graph_, op);
    if (slots.empty() || !writes_float(graph_, op)) {
      return;
    }
    const OpRule rule = target_.rule(qualified_op(op));
    decision.float_reason = refusal(node, slots, rule);
    if (!decision.float_reason.empty()) {
      decision.weight_only = weight_alone(node, rule);
      return;
    }
    if (rule.when == QuantizeWhen::always) {
      decision.quantized = true;
    } else if (rule.when == QuantizeWhen::between) {
      decide_between(node, slots);
    } else {
      decide_movement(node);
    }
  }

  /// Why this node cannot be quantized at all; empty if it can.
  std::string refusal(int node, const std::vector<int>& slots, const OpRule& rule) const {
    const onnx::NodeProto& op = proto(node);
    if (const RecipeRule* by_user = recipe_.float_rule(node)) {
      return "kept float by " + by_user->origin;
    }
    if (!is_onnx_domain(op) && rule.when == QuantizeWhen::never) {
      return "operator of domain " + op.domain();
    }
    if (rule.when == QuantizeWhen::always || rule.when == QuantizeWhen::between) {
      const bool constant = std::all_of(slots.begin(), slots.end(), [&](int slot) {
        return static_constant(graph_, op.input(slot)) != nullptr;
      });
      return constant ? "all inputs are constant" : activations_wanted(op);
    }
    if (moves_data(graph_, model_, target_, op) &&
        static_constant(graph_, op.input(0)) == nullptr) {
      return activations_wanted(op);
    }
    if (rule.when == QuantizeWhen::weight) {
      return "only its weight is stored as integers";
    }
    return "no integer kernel for " + op.op_type() + " on " + target_.name();
  }

  std::string activations_wanted(const onnx::NodeProto& op) const {
    if (recipe_.activation(op.output(0)).has_value()) {
      return {};
    }
    const RecipeRule* rule = recipe_.float_activation_rule(op.output(0));
    return rule == nullptr ? "the recipe keeps activations float"
                           : "its output is kept float by " + rule->origin;
  }

  /// A float node whose constant weight is stored as integers all the same.
  bool weight_alone(int node, const OpRule& rule) const {
    const onnx::NodeProto& op = proto(node);
    for (int slot = 0; slot < op.input_size() && rule.when != QuantizeWhen::never; ++slot) {
      if (!is_weight_slot(op, slot)) {
        continue;
      }
      const onnx::TensorProto* weight = static_constant(graph_, op.input(slot));
      if (weight != nullptr && is_float_type(weight->data_type())) {
        return true;
      }
    }
    return false;
  }

  void decide_between(int node, const std::vector<int>& slots) {
    const onnx::NodeProto& op = proto(node);
    for (const int slot : slots) {
      const std::string& input = op.input(slot);
      if (static_constant(graph_, input) != nullptr) {
        if (reach_ != Reach::connected) {
          continue;
        }
        // Measured on recognizers and detectors of text: rounding around x * c and x + c costs
        // most.
        plan(node).float_reason = "its other operand is a constant";
      } else if (!ready(input) && reach_ != Reach::alone) {
        plan(node).float_reason = "an input comes from a float op";
      }
    }
    plan(node).quantized = plan(node).float_reason.empty();
  }

  /// Behind a kernel that can write float nothing is gained by moving rounded values: each reader
  /// rounds its own part, in its own range (the slices of a joint query, key and value product).
  bool can_be_float(const std::string& tensor) const {
    const int producer = graph_.producer(tensor);
    if (producer < 0) {
      return false;
    }
    const FoundGroup* group = structure_.group_of(producer);
    const int head = group == nullptr ? producer : group->nodes.front();
    return target_.rule(qualified_op(proto(head))).float_output;
  }

  void decide_movement(int node) {
    const std::string& input = proto(node).input(0);
    if (ready(input) && !can_be_float(input)) {
      plan(node).carries = true;
    } else {
      plan(node).float_reason = "moves float data";
    }
  }

  bool wanted(int node) const {
    const auto& outputs = proto(node).output();
    return std::any_of(outputs.begin(), outputs.end(), [this](const std::string& output) {
      return wanted_.contains(output) || graph_.is_graph_output(output) ||
             (!output.empty() && recipe_.names_activation(output));
    });
  }

  void backward(int node) {
    const FoundGroup* group = structure_.group_of(node);
    if (group != nullptr && group->nodes.back() != node) {
      const auto tail = static_cast<std::size_t>(group->nodes.back());
      if (plan(node).quantized && !regions_.nodes[tail].quantized) {
        plan(node).quantized = false;
        plan(node).float_reason = regions_.nodes[tail].float_reason;
      }
      if (plan(node).quantized) {
        want_inputs(node);
      }
      return;
    }
    const int head = group == nullptr ? node : group->nodes.front();
    const OpRule rule = target_.rule(qualified_op(proto(head)));
    if (plan(node).carries && !wanted(node)) {
      plan(node) = {.float_reason = "moves float data"};
    }
    if (plan(node).quantized && !wanted(node)) {
      if (rule.when == QuantizeWhen::between && reach_ != Reach::alone) {
        plan(node) = {.float_reason = "only float ops read it"};
      } else {
        regions_.float_output[static_cast<std::size_t>(node)] = rule.float_output;
      }
    }
    if (plan(node).quantized || plan(node).carries) {
      want_inputs(node);
    }
  }

  void want_inputs(int node) {
    for (const int slot : data_slots(graph_, proto(node))) {
      if (slot == 0 || !plan(node).carries) {
        wanted_.insert(proto(node).input(slot));
      }
    }
  }

  const Model& model_;
  const GraphIndex& graph_;
  const RecipeView& recipe_;
  const Target& target_;
  const GraphStructure& structure_;
  Reach reach_;
  Regions regions_{};
  std::unordered_set<std::string_view> ready_{};
  std::unordered_set<std::string_view> wanted_{};
};

}  // namespace

std::vector<int> data_slots(const GraphIndex& graph, const onnx::NodeProto& node) {
  const OpFacts facts = op_facts(node);
  std::vector<int> slots;
  const int end = std::min(node.input_size(), facts.data_inputs.value_or(node.input_size()));
  for (int slot = 0; slot < end; ++slot) {
    const std::string& input = node.input(slot);
    if (input.empty() || slot == facts.bias_slot) {
      continue;
    }
    const int type = element_type(graph, input);
    if (type == 0 || is_float_type(type)) {
      slots.push_back(slot);
    }
  }
  return slots;
}

bool writes_float(const GraphIndex& graph, const onnx::NodeProto& node) {
  return std::any_of(node.output().begin(), node.output().end(), [&](const std::string& output) {
    const int type = output.empty() ? onnx::TensorProto::INT64 : element_type(graph, output);
    return type == 0 || is_float_type(type);
  });
}

Regions find_regions(const Model& model, const GraphIndex& graph, const RecipeView& recipe,
                     const Target& target, const GraphStructure& structure) {
  Regions regions;
  for (const Reach reach : {Reach::connected, Reach::with_constants, Reach::alone}) {
    regions = RegionFinder(model, graph, recipe, target, structure, reach).find();
    if (std::any_of(regions.nodes.begin(), regions.nodes.end(),
                    [](const NodePlan& node) { return node.quantized || node.weight_only; })) {
      break;
    }
  }
  return regions;
}

}  // namespace halfstep
