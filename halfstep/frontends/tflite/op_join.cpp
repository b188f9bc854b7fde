#include <array>

#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

void concatenation(Builder& b, const Operator& op) {
  const std::size_t rank = b.output(op).shape.size();
  Layout layout = Layout::source;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (b.input(op, i).shape.size() != rank) {
      damaged("its operands differ in their number of axes");
    }
    layout = b.layout(op, i) == Layout::channels_first ? Layout::channels_first : layout;
  }
  Names operands;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    operands.push_back(b.read(op, i, layout));
  }
  const std::int64_t axis = checked_axis(op.options.get<std::int32_t>(0, 0), rank);
  b.finish(op, 0, b.node("Concat", operands).set("axis", axis_in(layout, axis, rank)).out(), layout,
           op.options.get<std::int8_t>(1, 0));
}

void pack(Builder& b, const Operator& op) {
  const std::size_t rank = b.output(op).shape.size();
  const std::int64_t axis = checked_axis(op.options.get<std::int32_t>(1, 0), rank);
  const std::string at = b.constant({axis});
  Names operands;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    operands.push_back(b.node("Unsqueeze", {b.read(op, i), at}).out());
  }
  if (operands.empty()) {
    damaged("it has no operands");
  }
  b.finish(op, 0, b.node("Concat", operands).set("axis", axis).out());
}

void unpack(Builder& b, const Operator& op) {
  const std::size_t rank = b.input(op, 0).shape.size();
  const std::int64_t axis = checked_axis(op.options.get<std::int32_t>(1, 0), rank);
  const auto parts = static_cast<int>(op.outputs.size());
  const NodeRef split =
      b.node("Split", {b.read(op, 0)}, parts).set("axis", axis).set("num_outputs", parts);
  const std::string at = b.constant({axis});
  Names names;
  for (int i = 0; i < parts; ++i) {
    names.push_back(split.out(i));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    b.finish(op, i, b.node("Squeeze", {names[i], at}).out());
  }
}

/// Names first: finish() renames what the node writes.
void finish_all(Builder& b, const Operator& op, const NodeRef& split, Layout layout) {
  Names names;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    names.push_back(split.out(static_cast<int>(i)));
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    b.finish(op, i, names[i], layout);
  }
}

std::int64_t split_axis(Builder& b, const Operator& op, std::size_t axis_slot,
                        std::size_t value_slot) {
  const Ints axis = b.integers(op, axis_slot);
  if (axis.size() != 1) {
    damaged("its axis is not one number");
  }
  return checked_axis(axis[0], b.input(op, value_slot).shape.size());
}

void split(Builder& b, const Operator& op) {
  const std::size_t rank = b.input(op, 1).shape.size();
  const Layout layout = b.layout(op, 1);
  const std::int64_t axis = axis_in(layout, split_axis(b, op, 0, 1), rank);
  const auto parts = static_cast<int>(op.outputs.size());
  const NodeRef node =
      b.node("Split", {b.read(op, 1, layout)}, parts).set("axis", axis).set("num_outputs", parts);
  finish_all(b, op, node, layout);
}

void split_v(Builder& b, const Operator& op) {
  const std::size_t rank = b.input(op, 0).shape.size();
  const Layout layout = b.layout(op, 0);
  const std::int64_t source_axis = split_axis(b, op, 2, 0);
  Ints sizes;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    sizes.push_back(extent(b.output(op, i), static_cast<std::size_t>(source_axis)));
  }
  const auto parts = static_cast<int>(op.outputs.size());
  const NodeRef node = b.node("Split", {b.read(op, 0, layout), b.constant(sizes)}, parts)
                           .set("axis", axis_in(layout, source_axis, rank));
  finish_all(b, op, node, layout);
}

constexpr std::array kRows = {OpRow{.code = 2, .read = concatenation},
                              OpRow{.code = 49, .read = split}, OpRow{.code = 83, .read = pack},
                              OpRow{.code = 88, .read = unpack},
                              OpRow{.code = 102, .read = split_v}};

}  // namespace

std::span<const OpRow> join_ops() { return kRows; }

}  // namespace halfstep::tflite
