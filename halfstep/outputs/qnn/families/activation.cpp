// Activations, and Softmax.
#include <utility>

#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

/// Operations of ElementWiseNeuron.
constexpr std::uint32_t kHardSigmoid = 2, kHardSwish = 3, kSoftplus = 7;

/// Layout with `axis` of the tensor stored last: as it is there, as the model has it, else moved.
Layout with_last(const NodeContext& context, std::int64_t axis) {
  Layout there = context.graph.preferred(context.in(0));
  if (!there.empty() && there.back() == axis) {
    return there;
  }
  Layout layout = identity_layout(context.rank());
  std::erase(layout, static_cast<int>(axis));
  layout.push_back(static_cast<int>(axis));
  return layout;
}

/// Before opset 13 Softmax runs over all axes from `axis` on: the same as one axis if the others
/// have an extent of 1.
std::int64_t softmax_axis(const NodeContext& context) {
  const std::size_t rank = context.rank();
  if (context.graph.model().opset() >= 13) {
    return context.axis(-1, rank);
  }
  std::int64_t found = -1;
  for (auto axis = static_cast<std::size_t>(context.axis(1, rank)); axis < rank; ++axis) {
    if (context.in_shape(0)[axis] != 1 && found >= 0) {
      context.refuse("it runs over several axes together (opset below 13), and QNN's over one");
    }
    found = context.in_shape(0)[axis] != 1 ? static_cast<std::int64_t>(axis) : found;
  }
  return found < 0 ? static_cast<std::int64_t>(rank) - 1 : found;
}

}  // namespace

/// HardSwish, HardSigmoid, Softplus. QnnIr stores the operator HardSwish as another one; the
/// operation of ElementWiseNeuron is stored right.
void lower_neuron(const NodeContext& context) {
  const Layout layout = context.shared_layout();
  std::vector<Param> params;
  if (context.op == "HardSwish") {
    params.push_back({.name = "operation", .value = kHardSwish});
  } else if (context.op.ends_with("Softplus")) {
    params.push_back({.name = "operation", .value = kSoftplus});
  } else {
    params.push_back({.name = "operation", .value = kHardSigmoid});
    params.push_back({.name = "alpha", .value = context.attribute("alpha", 0.2F)});
    params.push_back({.name = "beta", .value = context.attribute("beta", 0.5F)});
  }
  context.graph.add("ElementWiseNeuron", {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)}, std::move(params));
}

void lower_relu_min_max(const NodeContext& context) {
  const Layout layout = context.shared_layout();
  // What float16 holds bounds what the kernels compute with.
  constexpr float kFarthest = 65504.0F;
  const float low = context.number("min", 1).value_or(-kFarthest);
  const float high = context.number("max", 2).value_or(kFarthest);
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)},
                    {{.name = "min_value", .value = low}, {.name = "max_value", .value = high}});
}

void lower_elu(const NodeContext& context) {
  const Layout layout = context.shared_layout();
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)},
                    {{.name = "alpha", .value = context.attribute("alpha", 1.0F)}});
}

/// LeakyRelu and PRelu. A slope of one value a channel is stored along the last axis alone, and the
/// channels are last: measured, 16-bit slopes along another axis do not prepare.
void lower_prelu(const NodeContext& context) {
  GraphBuilder& graph = context.graph;
  const std::size_t rank = context.out_shape().size();
  const bool per_channel =
      context.node.op_type() == "PRelu" && rank > 2 && context.rank(1) + 1 >= rank &&
      element_count(context.in_shape(1)) > 1 &&
      context.in_shape(1)[context.rank(1) + 1 - rank] == element_count(context.in_shape(1));
  const Layout layout = per_channel ? channels_last(rank) : context.shared_layout();
  std::string slope;
  if (context.node.op_type() == "LeakyRelu") {
    slope = graph.add_number(context.out() + "_slope",
                             static_cast<double>(context.attribute("alpha", 0.01F)),
                             context.operand_type(0).type, {1});
  } else {
    Layout axes = broadcast_layout(layout, context.out_shape().size(), context.rank(1));
    const Shape& shape = context.in_shape(1);
    while (context.is_constant(1) && axes.size() > 1 &&
           (axes.front() < 0 || shape[static_cast<std::size_t>(axes.front())] == 1)) {
      axes.erase(axes.begin());
    }
    slope = context.operand(1, axes);
  }
  graph.add(context.op, {context.operand(0, layout), slope}, {graph.result(context.out(), layout)});
}

void lower_softmax(const NodeContext& context) {
  const Layout layout = with_last(context, softmax_axis(context));
  const auto last = static_cast<std::uint32_t>(layout.size() - 1);
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)},
                    {{.name = "axis", .value = last}});
}

}  // namespace halfstep::qnn
