// Operators that move values without looking at them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"
#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

bool same_types(const NodeContext& context) {
  return same_type(context.operand_type(0), context.graph.type_of(context.out()));
}

/// Begin, end and step of each axis of a Slice, counted from the front.
struct Ranges {
  std::vector<std::int64_t> begin{}, end{}, step{};
};

Ranges slice_ranges(const NodeContext& context) {
  const Shape& shape = context.in_shape(0);
  const std::vector<std::int64_t> starts =
      context.integers("starts", 1).value_or(std::vector<std::int64_t>());
  const std::vector<std::int64_t> ends =
      context.integers("ends", 2).value_or(std::vector<std::int64_t>());
  std::vector<std::int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::int64_t> axes = context.integers("axes", 3).value_or(all);
  const std::vector<std::int64_t> steps =
      context.integers("steps", 4).value_or(std::vector<std::int64_t>(starts.size(), 1));
  Ranges ranges{.begin = std::vector<std::int64_t>(shape.size(), 0),
                .end = shape,
                .step = std::vector<std::int64_t>(shape.size(), 1)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normalized_axis(axes[i], shape.size()));
    const std::int64_t extent = shape[axis];
    const bool backward = steps[i] < 0;
    const auto clamped = [&](std::int64_t at) {
      at = at < 0 ? at + extent : at;
      return std::clamp<std::int64_t>(at, backward ? -1 : 0, backward ? extent - 1 : extent);
    };
    ranges.begin[axis] = clamped(std::max(starts[i], -extent));
    ranges.end[axis] = ends[i] < -extent ? (backward ? -1 : 0) : clamped(ends[i]);
    ranges.step[axis] = steps[i];
  }
  return ranges;
}

/// What a Pad puts at the borders, as the parameter wants it: codes where values are codes.
Param pad_value(const NodeContext& context) {
  const auto value = static_cast<double>(context.number("value", 2).value_or(0.0F));
  const TensorType type = context.operand_type(0);
  if (is_float(type.type)) {
    return {.name = "pad_constant_value", .value = static_cast<float>(value)};
  }
  double code = value;
  if (is_fixed_point(type.type)) {
    code = std::nearbyint(value / static_cast<double>(type.quantization.scales[0])) -
           type.quantization.offsets[0];
    const bool is_signed = (static_cast<std::uint32_t>(type.type) >> 8U) == 3;
    const double steps = std::exp2(8.0 * static_cast<double>(size_of(type.type)));
    const double lowest = is_signed ? -steps / 2 : 0;
    code = std::clamp(code, lowest, lowest + steps - 1);
  }
  return {.name = "pad_constant_value", .value = static_cast<std::int32_t>(code)};
}

std::uint32_t pad_scheme(const NodeContext& context) {
  const std::string mode = context.attribute("mode", "constant");
  if (mode == "constant") {
    return 0;
  }
  if (mode != "reflect" && mode != "edge") {
    context.refuse("its mode is " + mode + "; QNN has constant, reflect and edge");
  }
  return mode == "reflect" ? 2 : 3;
}

}  // namespace

/// Reshape, Flatten, Squeeze, Unsqueeze, Identity: the bytes stay where they are wherever the
/// groups of axes lie together, whatever the order of axes.
void lower_reshape(const NodeContext& context) {
  GraphBuilder& graph = context.graph;
  const Shape &from = context.in_shape(0), &to = context.out_shape();
  const bool constant = context.is_constant(0);
  Layout layout = constant ? identity_layout(from.size()) : graph.made_in(context.in(0));
  if (from == to && !constant && same_types(context)) {
    graph.alias(context.out(), context.in(0), layout, layout);
    return;
  }
  std::optional<Layout> result = reshaped_layout(layout, from, to);
  if (!result) {
    layout = identity_layout(from.size());
    result = identity_layout(to.size());
  }
  graph.add(context.op, {context.operand(0, layout)}, {graph.result(context.out(), *result)});
}

/// No operator: the result has the bytes of the input, in another layout. Who needs another one
/// brings it there.
void lower_transpose(const NodeContext& context) {
  GraphBuilder& graph = context.graph;
  const std::optional<std::vector<std::int64_t>> perm =
      transpose_order(context.node, context.rank());
  if (!perm) {
    context.refuse("its perm is no order of the axes");
  }
  if (!context.is_constant(0) && same_types(context)) {
    const Layout layout = graph.made_in(context.in(0));
    graph.alias(context.out(), context.in(0), layout, transposed_layout(layout, *perm));
    return;
  }
  const std::vector<std::uint32_t> order(perm->begin(), perm->end());
  graph.add(context.op, {context.operand(0)},
            {graph.result(context.out(), identity_layout(context.rank()))},
            {list_param("perm", order)});
}

void lower_concat(const NodeContext& context) {
  const Layout layout = context.shared_layout();
  std::vector<std::string> inputs;
  inputs.reserve(static_cast<std::size_t>(context.node.input_size()));
  for (int slot = 0; slot < context.node.input_size(); ++slot) {
    inputs.push_back(context.operand(slot, layout));
  }
  const std::int64_t axis = context.axis(0, context.out_shape().size());
  const auto stored = static_cast<std::uint32_t>(stored_axis(layout, axis));
  const bool single = inputs.size() == 1;
  context.graph.add(
      single ? "Reshape" : context.op, std::move(inputs),
      {context.graph.result(context.out(), layout)},
      single ? std::vector<Param>() : std::vector<Param>{{.name = "axis", .value = stored}});
}

void lower_split(const NodeContext& context) {
  const Layout layout = context.graph.preferred(context.in(0));
  const std::int64_t axis = context.axis(0, context.rank());
  std::vector<std::string> outputs;
  std::vector<std::uint32_t> starts;
  std::int64_t at = 0;
  for (int i = 0; i < context.node.output_size(); ++i) {
    if (!context.wants(i)) {
      context.refuse("its output " + std::to_string(i) + " has no name, so its extent is unknown");
    }
    outputs.push_back(context.graph.result(context.out(i), layout));
    if (i > 0) {
      starts.push_back(static_cast<std::uint32_t>(at));
    }
    at += context.out_shape(i)[static_cast<std::size_t>(axis)];
  }
  if (outputs.size() == 1) {
    context.graph.add("Reshape", {context.operand(0, layout)}, std::move(outputs));
    return;
  }
  context.graph.add(
      context.op, {context.operand(0, layout)}, std::move(outputs),
      {{.name = "axis", .value = static_cast<std::uint32_t>(stored_axis(layout, axis))},
       list_param("split_index", starts)});
}

void lower_slice(const NodeContext& context) {
  const Ranges ranges = slice_ranges(context);
  const Layout layout = context.is_constant(0) ? identity_layout(context.rank())
                                               : context.graph.preferred(context.in(0));
  std::vector<std::int32_t> flat;
  std::uint32_t open_ends = 0;  // axes that run down to the first value have no end to name
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const auto axis = static_cast<std::size_t>(std::max(0, layout[i]));
    const bool inserted = layout[i] < 0;
    flat.push_back(inserted ? 0 : static_cast<std::int32_t>(ranges.begin[axis]));
    flat.push_back(inserted ? 1 : static_cast<std::int32_t>(ranges.end[axis]));
    flat.push_back(inserted ? 1 : static_cast<std::int32_t>(ranges.step[axis]));
    open_ends |= !inserted && ranges.end[axis] < 0 ? 1U << i : 0U;
  }
  std::vector<Param> params{
      list_param("ranges", flat, {static_cast<std::uint32_t>(layout.size()), 3})};
  if (open_ends != 0) {
    params.push_back({.name = "end_mask", .value = open_ends});
  }
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)}, std::move(params));
}

void lower_pad(const NodeContext& context) {
  const Layout layout = context.graph.preferred(context.in(0));
  const std::optional<std::vector<std::int64_t>> given = context.integers("pads", 1);
  std::vector<std::int64_t> axes =
      context.integers("axes", 3).value_or(std::vector<std::int64_t>());
  if (axes.empty()) {
    axes.resize(context.rank());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (!given || given->size() != 2 * axes.size()) {
    context.refuse("it has no pads for each axis");
  }
  std::vector<std::uint32_t> amounts(2 * layout.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t before = (*given)[i], after = (*given)[i + axes.size()];
    if (before < 0 || after < 0) {
      context.refuse("it has negative pads, and QNN takes none; use a Slice");
    }
    const std::size_t at = stored_axis(layout, normalized_axis(axes[i], context.rank()));
    amounts[2 * at] = static_cast<std::uint32_t>(before);
    amounts[2 * at + 1] = static_cast<std::uint32_t>(after);
  }
  std::vector<Param> params{
      {.name = "scheme", .value = pad_scheme(context)},
      list_param("pad_amount", amounts, {static_cast<std::uint32_t>(layout.size()), 2})};
  if (pad_scheme(context) == 0) {
    params.push_back(pad_value(context));
  }
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)}, std::move(params));
}

void lower_tile(const NodeContext& context) {
  const Layout layout = context.graph.preferred(context.in(0));
  std::vector<std::uint32_t> multiples;
  for (const int axis : layout) {
    const auto i = static_cast<std::size_t>(std::max(0, axis));
    multiples.push_back(
        axis < 0 ? 1U
                 : static_cast<std::uint32_t>(context.out_shape()[i] / context.in_shape(0)[i]));
  }
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)},
                    {list_param("multiples", multiples)});
}

}  // namespace halfstep::qnn
