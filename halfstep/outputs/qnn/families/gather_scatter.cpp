// Operators with indices.
#include <algorithm>
#include <cstring>
#include <utility>

#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

/// Indices in int32. Constant ones that count from the end are counted from the front; `extents`:
/// of the axes that the last axis of the indices speaks of, or of the one axis.
std::string indices(const NodeContext& context, int slot,
                    const std::vector<std::int64_t>& extents) {
  if (!context.is_constant(slot)) {
    return context.operand(slot);
  }
  const std::vector<std::int64_t> values =
      context.integers("indices", slot).value_or(std::vector<std::int64_t>());
  if (std::none_of(values.begin(), values.end(), [](std::int64_t value) { return value < 0; })) {
    return context.operand(slot);
  }
  std::vector<std::byte> bytes(values.size() * sizeof(std::int32_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<std::int32_t>(
        values[i] < 0 ? values[i] + extents[i % extents.size()] : values[i]);
    std::memcpy(bytes.data() + i * sizeof(index), &index, sizeof(index));
  }
  return context.graph.add_constant(context.in(slot) + "_from_front", {.type = DataType::int32},
                                    context.in_shape(slot), std::move(bytes));
}

std::int64_t extent_of(const NodeContext& context, std::int64_t axis) {
  return context.in_shape(0)[static_cast<std::size_t>(axis)];
}

void add_plain(const NodeContext& context, std::vector<std::string> inputs,
               std::vector<Param> params) {
  context.graph.add(
      context.op, std::move(inputs),
      {context.graph.result(context.out(), identity_layout(context.out_shape().size()))},
      std::move(params));
}

/// The updates in the encoding of the data: their codes are copied.
std::string updates(const NodeContext& context) {
  const TensorType wanted = context.operand_type(0), own = context.operand_type(2);
  std::string name = context.operand(2);
  if (same_type(wanted, own) || !is_fixed_point(wanted.type) || !is_fixed_point(own.type)) {
    return name;
  }
  std::string converted =
      context.graph.temporary(context.in(2) + "_converted", wanted, context.in_shape(2));
  context.graph.add("Convert", {std::move(name)}, {converted}, {}, "updates");
  return converted;
}

std::uint32_t reduction(const NodeContext& context) {
  const std::string kind = context.attribute("reduction", "none");
  if (kind != "none" && kind != "add" && kind != "mul") {
    context.refuse("its reduction is " + kind + "; QNN has none, add and mul");
  }
  return kind == "none" ? 0 : kind == "add" ? 1 : 2;
}

}  // namespace

/// A single index without axes is a list of one whose axis is taken out again: QNN has no scalars.
void lower_gather(const NodeContext& context) {
  GraphBuilder& graph = context.graph;
  const std::int64_t axis = context.axis(0, context.rank());
  const std::string where = indices(context, 1, {extent_of(context, axis)});
  std::vector<Param> params{{.name = "axis", .value = static_cast<std::int32_t>(axis)}};
  const std::size_t rank = context.out_shape().size();
  if (context.rank(1) > 0) {
    add_plain(context, {context.operand(0), where}, std::move(params));
    return;
  }
  Layout layout = identity_layout(rank);
  layout.insert(layout.begin() + axis, -1);
  graph.add(context.op, {context.operand(0), where}, {graph.result(context.out(), layout)},
            std::move(params));
}

void lower_gather_elements(const NodeContext& context) {
  const std::int64_t axis = context.axis(0, context.rank());
  add_plain(context, {context.operand(0), indices(context, 1, {extent_of(context, axis)})},
            {{.name = "axis", .value = static_cast<std::uint32_t>(axis)}});
}

void lower_gather_nd(const NodeContext& context) {
  const std::int64_t batch = context.attribute("batch_dims", std::int64_t{0});
  const Shape& shape = context.in_shape(0);
  const auto depth = static_cast<std::ptrdiff_t>(context.in_shape(1).back());
  const std::vector<std::int64_t> extents(shape.begin() + batch, shape.begin() + batch + depth);
  add_plain(context, {context.operand(0), indices(context, 1, extents)},
            {{.name = "batch_dims", .value = static_cast<std::uint32_t>(batch)}});
}

/// ScatterND and ScatterElements.
void lower_scatter(const NodeContext& context) {
  std::vector<Param> params{{.name = "reduction", .value = reduction(context)}};
  std::vector<std::int64_t> extents;
  const Shape& shape = context.in_shape(0);
  if (context.op == "ScatterElements") {
    const std::int64_t axis = context.axis(0, context.rank());
    params.push_back({.name = "axis", .value = static_cast<std::uint32_t>(axis)});
    extents = {extent_of(context, axis)};
  } else {
    extents.assign(shape.begin(), shape.begin() + context.in_shape(1).back());
  }
  add_plain(context, {context.operand(0), indices(context, 1, extents), updates(context)},
            std::move(params));
}

void lower_one_hot(const NodeContext& context) {
  const std::optional<std::vector<std::int64_t>> depth = context.integers("depth", 1);
  if (!depth || depth->empty() || !context.is_constant(2)) {
    context.refuse("its depth or values are computed, and QNN wants them constant");
  }
  const std::vector<float> values =
      context.graph.model().floats(*context.graph.index().constant(context.in(2)));
  const std::int64_t axis = context.axis(-1, context.out_shape().size());
  const bool whole = !is_float(context.graph.type_of(context.out()).type);
  const auto number = [whole](const char* name, float value) {
    return whole ? Param{.name = name, .value = static_cast<std::int32_t>(value)}
                 : Param{.name = name, .value = value};
  };
  add_plain(context, {indices(context, 0, {depth->front()})},
            {{.name = "depth", .value = static_cast<std::uint32_t>(depth->front())},
             {.name = "axis", .value = static_cast<std::uint32_t>(axis)},
             number("on_value", values.at(1)),
             number("off_value", values.at(0))});
}

}  // namespace halfstep::qnn
