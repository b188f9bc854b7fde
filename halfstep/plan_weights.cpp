#include "halfstep/plan_weights.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "halfstep/model/static_view.h"
#include "halfstep/model/values.h"
#include "halfstep/model/visit.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// Empty if `spec` can be laid over a tensor of `shape`, else why not.
std::string block_problem(const QuantizationSpec& spec, const Shape& shape) {
  std::int64_t axis = -1;
  std::int64_t size = 0;
  if (const auto* block = std::get_if<PerBlock>(&spec.granularity)) {
    if (!block->axis || block->block_size.size() != 1) {
      return {};  // one size per axis, written by the user: checked when it is laid over the tensor
    }
    axis = *block->axis;
    size = block->block_size[0];
  } else if (const auto* lpbq = std::get_if<Lpbq>(&spec.granularity)) {
    axis = lpbq->axis.value_or(-1);
    size = lpbq->block_size;
  } else {
    return {};
  }
  const std::string block = "block size " + std::to_string(size);
  if (axis < 0) {
    return block + " needs a weight of two or more axes, this one has shape " + to_text(shape);
  }
  if (axis > 1) {
    return block + " on axis " + std::to_string(axis) + " of a stacked weight of shape " +
           to_text(shape);
  }
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  if (extent % size != 0) {
    return block + " does not divide " + std::to_string(extent) + ", axis " + std::to_string(axis) +
           " of shape " + to_text(shape);
  }
  return {};
}

/// The axes of the constant itself.
void to_root_axes(WeightFacts& facts, const StaticView& view) {
  const std::size_t rank = view.axes.size();
  if (rank < 2) {
    return;
  }
  const auto root_axis = [&](std::int64_t axis) {
    return view.axes[static_cast<std::size_t>(normalized_axis(axis, rank))];
  };
  facts.channel_axis = root_axis(facts.channel_axis);
  facts.block_axis = root_axis(facts.block_axis);
}

}  // namespace

QuantizationSpec WeightPlanner::with_axes(const QuantizationSpec& spec, const WeightFacts& facts,
                                          const Shape& shape) const {
  QuantizationSpec result = spec;
  const std::size_t rank = shape.size();
  if (auto* channel = std::get_if<PerChannel>(&result.granularity)) {
    if (!channel->axis && rank < 2) {
      result.granularity = PerTensor{};  // a vector or scalar has no channel of its own
    } else {
      channel->axis = normalized_axis(channel->axis.value_or(facts.channel_axis), rank);
    }
  } else if (auto* block = std::get_if<PerBlock>(&result.granularity)) {
    if (block->block_size.size() == 1 && rank >= 2) {
      block->axis = normalized_axis(block->axis.value_or(facts.block_axis), rank);
    }
  } else if (auto* lpbq = std::get_if<Lpbq>(&result.granularity); lpbq != nullptr && rank >= 2) {
    lpbq->axis = normalized_axis(lpbq->axis.value_or(facts.block_axis), rank);
    lpbq->channel_axis = normalized_axis(lpbq->channel_axis.value_or(facts.channel_axis), rank);
  }
  return result;
}

QuantizationSpec WeightPlanner::fitting_spec(const QuantizationSpec& spec, const WeightFacts& facts,
                                             const Shape& shape, int node,
                                             const std::string& tensor) {
  QuantizationSpec wanted = with_axes(spec, facts, shape);
  const std::string problem = block_problem(wanted, shape);
  if (problem.empty()) {
    return wanted;
  }
  const std::string subject = "weight '" + tensor + "' of " + graph_.label(node) + ": " + problem;
  if (!recipe_.weight_fallback) {
    throw Error(ErrorKind::invalid_argument,
                subject + "; give the recipe a \"weight_fallback\" or exclude the node");
  }
  diagnostics_.push_back({.severity = Severity::note,
                          .rule = "recipe/block-fallback",
                          .subject = tensor,
                          .message = subject + "; stored as " +
                                     std::string(name(recipe_.weight_fallback->dtype)) +
                                     " by the recipe's weight_fallback"});
  return with_axes(*recipe_.weight_fallback, facts, shape);
}

std::size_t WeightPlanner::add(const std::string& tensor, const QuantizationSpec& spec,
                               Consumer use, std::int64_t channel_axis) {
  std::vector<std::size_t>& same_tensor = by_tensor_[tensor];
  for (const std::size_t index : same_tensor) {
    if (weights_[index].spec.spec() == spec) {
      weights_[index].uses.push_back(use);
      return index;
    }
  }
  try {
    weights_.push_back({.tensor = tensor,
                        .uses = {use},
                        .spec = resolve(spec, Role::weight),
                        .channel_axis = channel_axis});
  } catch (const Error& error) {
    throw error.within("weight '" + tensor + "' of " + graph_.label(use.node));
  }
  same_tensor.push_back(weights_.size() - 1);
  return weights_.size() - 1;
}

void WeightPlanner::add_weights(int node) {
  for (int slot = 0; slot < graph_.graph().node(node).input_size(); ++slot) {
    add_weight_at(node, slot);
  }
}

bool WeightPlanner::add_weight_at(int node, int slot) {
  const onnx::NodeProto& op = graph_.graph().node(node);
  std::optional<WeightFacts> facts = weight_facts(op, slot);
  if (!facts) {
    return false;
  }
  const std::optional<StaticView> view = static_view(graph_, op.input(slot));
  if (!view) {
    return true;
  }
  if (!is_float_type(view->root->data_type()) || element_count(shape_of(*view->root)) == 0) {
    return true;
  }
  const SpecOrFloat spec = view_.weight(node, view->root_name);
  if (!spec) {
    keep_float(op, view->root_name);
    return true;
  }
  const Shape shape = shape_of(*view->root);
  to_root_axes(*facts, *view);
  const Consumer use = view->direct() ? Consumer{.node = node, .slot = slot}
                                      : Consumer{.node = view->nodes.front(), .slot = 0};
  by_use_[{node, slot}] =
      add(view->root_name, fitting_spec(*spec, *facts, shape, node, view->root_name), use,
          shape.empty() ? 0 : normalized_axis(facts->channel_axis, shape.size()));
  return true;
}

void WeightPlanner::keep_float(const onnx::NodeProto& node, const std::string& tensor) {
  const bool known =
      view_.float_rule(node) != nullptr ||  // the whole node stays float, and that is said
      std::any_of(float_weights_.begin(), float_weights_.end(),
                  [&](const FloatWeight& weight) { return weight.tensor == tensor; });
  if (!known) {
    const RecipeRule* rule = view_.float_weight_rule(node, tensor);
    float_weights_.push_back({.tensor = tensor,
                              .reason = rule == nullptr ? "the recipe keeps weights float"
                                                        : "weight kept float by " + rule->origin});
  }
}

void WeightPlanner::warn_of_replaceable(int node) {
  const onnx::NodeProto& op = graph_.graph().node(node);
  for (int slot = 0; slot < op.input_size(); ++slot) {
    const std::string& tensor = op.input(slot);
    if (defaults_.contains(tensor) && is_weight_slot(op, slot)) {
      diagnostics_.push_back(
          {.severity = Severity::warning,
           .rule = "plan/weight-is-input",
           .subject = tensor,
           .message = "weight '" + tensor + "' of " + graph_.label(node) +
                      " is a graph input with a default value: callers may replace it, so it is "
                      "not stored as integers. Remove it from the graph's inputs if nobody does"});
    }
  }
}

void WeightPlanner::add_body_weights(int holder, const Target& target) {
  if (view_.float_rule(holder) != nullptr) {
    return;
  }
  std::unordered_set<std::string_view> hidden;
  const auto visit = [&](const onnx::GraphProto& body) {
    for (const auto& input : body.input()) {
      hidden.insert(input.name());
    }
    for (const auto& initializer : body.initializer()) {
      hidden.insert(initializer.name());
    }
    for (const onnx::NodeProto& node : body.node()) {
      hidden.insert(node.output().begin(), node.output().end());
      if (target.rule(qualified_op(node)).when == QuantizeWhen::never ||
          view_.float_rule(node) != nullptr) {
        continue;
      }
      for (int slot = 0; slot < node.input_size(); ++slot) {
        if (is_weight_slot(node, slot) && !hidden.contains(node.input(slot))) {
          add_weight_of_body(holder, node, slot);
        }
      }
    }
  };
  for (const onnx::AttributeProto& attribute : graph_.graph().node(holder).attribute()) {
    for_each_graph_in(attribute,
                      [&](const onnx::GraphProto& body) { for_each_graph(body, visit); });
  }
}

void WeightPlanner::add_weight_of_body(int holder, const onnx::NodeProto& node, int slot) {
  const std::string& tensor = node.input(slot);
  const onnx::TensorProto* value = graph_.constant(tensor);
  const SpecOrFloat spec = view_.weight(node, tensor);
  if (value == nullptr || !spec || !is_float_type(value->data_type()) ||
      element_count(shape_of(*value)) == 0 || !by_tensor_[tensor].empty()) {
    return;  // readers in bodies take the tensor as the main graph has it
  }
  const Shape shape = shape_of(*value);
  const WeightFacts facts = *weight_facts(node, slot);
  add(tensor, fitting_spec(*spec, facts, shape, holder, tensor), {.node = holder, .slot = -1},
      shape.empty() ? 0 : normalized_axis(facts.channel_axis, shape.size()));
}

void WeightPlanner::add_operand(int node, int slot) {
  const std::string& tensor = graph_.graph().node(node).input(slot);
  SpecOrFloat spec = view_.activation(tensor);
  const onnx::TensorProto* value = graph_.constant(tensor);
  if (!spec || value == nullptr || !is_float_type(value->data_type()) ||
      element_count(shape_of(*value)) == 0) {
    return;
  }
  spec->qparam_calculator_cls = "static";
  add(tensor, *spec, {.node = node, .slot = slot}, 0);
}

void WeightPlanner::add_bias(Plan& plan, int head, Consumer use) {
  const onnx::NodeProto& op = graph_.graph().node(head);
  const OpFacts facts = op_facts(op);
  if (!facts.weight || facts.weight->slot >= op.input_size()) {
    return;
  }
  const std::string& tensor = graph_.graph().node(use.node).input(use.slot);
  const onnx::TensorProto* bias = tensor.empty() ? nullptr : graph_.constant(tensor);
  // The bias of a weight behind a view stays float: its channels have another axis there.
  const onnx::TensorProto* weight_value = graph_.constant(op.input(facts.weight->slot));
  const auto weight = by_use_.find({head, facts.weight->slot});
  const std::string& input = op.input(0);
  const SpecOrFloat input_spec = view_.activation(input);
  if (bias == nullptr || !is_float_type(bias->data_type()) || weight_value == nullptr ||
      weight == by_use_.end() || !input_spec || !is_integer(input_spec->dtype)) {
    return;
  }
  const Shape weight_shape = shape_of(*weight_value);
  const std::int64_t channels = weight_shape[static_cast<std::size_t>(normalized_axis(
                                    facts.weight->channel_axis, weight_shape.size()))] *
                                facts.weight->channel_repeat;
  const Shape bias_shape = shape_of(*bias);
  if (bias_shape.empty() || element_count(bias_shape) != channels ||
      bias_shape.back() != channels) {
    return;  // a broadcast bias stays float
  }
  plan.biases.push_back({.tensor = tensor,
                         .use = use,
                         .input = input,
                         .weight = weight->second,
                         .weight_use = {.node = head, .slot = facts.weight->slot},
                         .channel_repeat = facts.weight->channel_repeat});
}

}  // namespace halfstep
