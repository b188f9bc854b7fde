// Pools, and operators that go along an axis.
#include <algorithm>
#include <numeric>
#include <utility>

#include "halfstep/model/op_facts.h"
#include "halfstep/outputs/qnn/families/families.h"
#include "halfstep/outputs/qnn/families/window.h"

namespace halfstep::qnn {
namespace {

std::vector<std::int64_t> pooled_extents(const NodeContext& context) {
  if (!context.node.op_type().starts_with("Global")) {
    return context.list("kernel_shape");
  }
  const Shape& shape = context.in_shape(0);
  return {shape.begin() + 2, shape.end()};
}

/// The axes of a Reduce in order; without any: all, or none if the node says so.
std::vector<std::int64_t> reduced_axes(const NodeContext& context) {
  std::vector<std::int64_t> axes =
      context.integers("axes", 1).value_or(std::vector<std::int64_t>());
  if (axes.empty() && context.attribute("noop_with_empty_axes", std::int64_t{0}) == 0) {
    axes.resize(context.rank());
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes) {
    axis = normalized_axis(axis, context.rank());
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

/// The layout of a result that lacks `axes`: the others in their order, counted anew.
Layout without_axes(const Layout& layout, const std::vector<std::int64_t>& axes) {
  Layout result;
  for (const int axis : layout) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      const auto before = std::count_if(axes.begin(), axes.end(),
                                        [axis](std::int64_t other) { return other < axis; });
      result.push_back(axis < 0 ? axis : axis - static_cast<int>(before));
    }
  }
  return result;
}

/// The operand's layout with `axis` last.
Layout axis_last(const NodeContext& context, std::int64_t axis) {
  Layout there = context.graph.preferred(context.in(0));
  if (there.back() == axis) {
    return there;
  }
  Layout layout = identity_layout(context.rank());
  std::erase(layout, static_cast<int>(axis));
  layout.push_back(static_cast<int>(axis));
  return layout;
}

}  // namespace

void lower_pool(const NodeContext& context) {
  if (context.wants(1)) {
    context.refuse("its second output (indices) has no form in QNN");
  }
  const Window window = read_window(context, pooled_extents(context));
  if (std::any_of(window.dilation.begin(), window.dilation.end(),
                  [](std::uint32_t dilation) { return dilation != 1; })) {
    context.refuse("it is dilated, and QNN's pools are not");
  }
  const Layout layout = channels_last(context.rank());
  std::vector<Param> params{list_param("filter_size", window.kernel),
                            list_param("stride", window.stride), pad_param(window.pads)};
  if (context.op.starts_with("PoolAvg")) {
    const bool counts = context.attribute("count_include_pad", std::int64_t{0}) != 0;
    params.push_back({.name = "count_pad_for_edges", .value = counts});
  }
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)}, std::move(params));
}

void lower_reduce(const NodeContext& context) {
  const std::vector<std::int64_t> axes = reduced_axes(context);
  const bool keep = context.attribute("keepdims", std::int64_t{1}) != 0;
  const Layout layout = context.graph.preferred(context.in(0));
  if (axes.empty()) {
    context.graph.add("Reshape", {context.operand(0, layout)},
                      {context.graph.result(context.out(), layout)});
    return;
  }
  std::vector<std::uint32_t> stored;
  stored.reserve(axes.size());
  for (const std::int64_t axis : axes) {
    stored.push_back(static_cast<std::uint32_t>(stored_axis(layout, axis)));
  }
  std::sort(stored.begin(), stored.end());
  const Layout result = keep ? layout : without_axes(layout, axes);
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), result)},
                    {list_param("axes", stored), {.name = "keep_dims", .value = keep}});
}

void lower_arg(const NodeContext& context) {
  if (context.attribute("select_last_index", std::int64_t{0}) != 0) {
    context.refuse("it selects the last of equal values, and QNN's the first");
  }
  const std::int64_t axis = context.axis(0, context.rank());
  const bool keep = context.attribute("keepdims", std::int64_t{1}) != 0;
  const Layout layout = context.graph.preferred(context.in(0));
  const Layout result = keep ? layout : without_axes(layout, {axis});
  const auto stored = static_cast<std::uint32_t>(stored_axis(layout, axis));
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), result)},
                    {{.name = "axis", .value = stored}, {.name = "keep_dims", .value = keep}});
}

/// QNN's runs over the last axis and counts in uint32.
void lower_top_k(const NodeContext& context) {
  GraphBuilder& graph = context.graph;
  const std::int64_t axis = context.axis(-1, context.rank());
  const Layout layout = axis_last(context, axis);
  const Shape dims = stored_shape(context.out_shape(), layout);
  std::vector<Param> params{{.name = "k", .value = static_cast<std::uint32_t>(dims.back())}};
  if (context.attribute("largest", std::int64_t{1}) == 0) {
    params.push_back({.name = "largest", .value = false});
  }
  const std::string values =
      context.wants(0) ? graph.result(context.out(), layout)
                       : graph.temporary(context.in(0) + "_top", context.operand_type(0), dims);
  const std::string base = context.wants(1) ? context.out(1) : values;
  const std::string counted = graph.temporary(base + "_uint32", {.type = DataType::uint32}, dims);
  graph.add(context.op, {context.operand(0, layout)}, {values, counted}, std::move(params));
  if (context.wants(1)) {
    graph.add("Cast", {counted}, {graph.result(context.out(1), layout)}, {}, "indices");
  }
}

void lower_cumulative_sum(const NodeContext& context) {
  const std::optional<std::vector<std::int64_t>> axis = context.integers("axis", 1);
  if (!axis || axis->empty()) {
    context.refuse("it has no axis");
  }
  const Layout layout = context.graph.preferred(context.in(0));
  const auto stored = static_cast<std::uint32_t>(
      stored_axis(layout, normalized_axis(axis->front(), context.rank())));
  context.graph.add(
      context.op, {context.operand(0, layout)}, {context.graph.result(context.out(), layout)},
      {{.name = "axis", .value = stored},
       {.name = "exclusive", .value = context.attribute("exclusive", std::int64_t{0}) != 0},
       {.name = "reverse", .value = context.attribute("reverse", std::int64_t{0}) != 0}});
}

}  // namespace halfstep::qnn
