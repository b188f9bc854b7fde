// Operators of one or more inputs that broadcast.
#include <cmath>
#include <utility>

#include "halfstep/outputs/qnn/families/families.h"

namespace halfstep::qnn {
namespace {

/// The operand, with axes inserted in front where the layout needs all of them.
std::string broadcast_operand(const NodeContext& context, int slot, const Layout& layout) {
  const std::size_t own = context.rank(slot), all = context.out_shape().size();
  return is_identity(layout) ? context.operand(slot)
                             : context.operand(slot, broadcast_layout(layout, all, own));
}

double lowest_code(DataType type) {
  const bool is_signed = (static_cast<std::uint32_t>(type) >> 8U) == 3;
  return is_signed ? -std::exp2(8.0 * static_cast<double>(size_of(type)) - 1) : 0.0;
}

/// The type of a sum of two tensors of fixed point: as wide as they are, covering all sums.
TensorType sum_type(const TensorType& a, const TensorType& b) {
  if (!is_fixed_point(a.type)) {
    return {.type = a.type};
  }
  const double lowest = lowest_code(a.type);
  const double steps = std::exp2(8.0 * static_cast<double>(size_of(a.type))) - 1;
  double low = 0, high = 0;
  for (const TensorType* part : {&a, &b}) {
    const double scale = static_cast<double>(part->quantization.scales[0]);
    const double start = scale * (lowest + part->quantization.offsets[0]);
    low += start;
    high += start + scale * steps;
  }
  const double scale = (high - low) / steps;
  return {
      .type = a.type,
      .quantization = {.kind = Quantization::Kind::per_tensor,
                       .scales = {static_cast<float>(scale)},
                       .offsets = {static_cast<std::int32_t>(std::lround(low / scale - lowest))}}};
}

}  // namespace

void lower_unary(const NodeContext& context) {
  const Layout layout = context.shared_layout();
  context.graph.add(context.op, {context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)});
}

void lower_binary(const NodeContext& context) {
  const Layout layout = context.shared_layout();
  context.graph.add(context.op,
                    {broadcast_operand(context, 0, layout), broadcast_operand(context, 1, layout)},
                    {context.graph.result(context.out(), layout)});
}

/// Add, Sum, Mean, Max, Min of any number of inputs: a chain. Partial sums cover all their values,
/// partial extremes have the result's type.
void lower_variadic(const NodeContext& context) {
  GraphBuilder& graph = context.graph;
  const Layout layout = context.shared_layout();
  const int inputs = context.node.input_size();
  const bool mean = context.node.op_type() == "Mean" && inputs > 1;
  if (inputs == 1) {
    graph.add("Reshape", {broadcast_operand(context, 0, layout)},
              {graph.result(context.out(), layout)});
    return;
  }
  std::string so_far = broadcast_operand(context, 0, layout);
  TensorType type = context.operand_type(0);
  const TensorType end = graph.type_of(context.out());
  for (int slot = 1; slot < inputs; ++slot) {
    const bool last = slot + 1 == inputs;
    type = context.op == "ElementWiseAdd" ? sum_type(type, context.operand_type(slot)) : end;
    std::string next = broadcast_operand(context, slot, layout);
    std::string to = last && !mean ? graph.result(context.out(), layout)
                                   : graph.temporary(context.out() + "_partial", type,
                                                     stored_shape(context.out_shape(), layout));
    graph.add(context.op, {so_far, std::move(next)}, {to}, {}, last && !mean ? "" : "partial");
    so_far = std::move(to);
  }
  if (mean) {
    const std::string share =
        graph.add_number(context.out() + "_share", 1.0 / inputs, type.type, {1});
    graph.add("ElementWiseMultiply", {so_far, share}, {graph.result(context.out(), layout)});
  }
}

void lower_reciprocal_or_divide(const NodeContext& context) {
  if (context.node.op_type() != "Reciprocal") {
    lower_binary(context);
    return;
  }
  const Layout layout = context.shared_layout();
  const std::string one =
      context.graph.add_number(context.out() + "_one", 1, context.operand_type(0).type, {1});
  context.graph.add(context.op, {one, context.operand(0, layout)},
                    {context.graph.result(context.out(), layout)});
}

/// Mul; Expand is a Tile where the encoding stays, else a product with ones.
void lower_multiply(const NodeContext& context) {
  if (context.node.op_type() != "Expand") {
    lower_binary(context);
    return;
  }
  GraphBuilder& graph = context.graph;
  const Shape &from = context.in_shape(0), &to = context.out_shape();
  const Layout identity = identity_layout(to.size());
  const std::string input = context.operand(0, broadcast_layout(identity, to.size(), from.size()));
  if (!same_type(context.operand_type(0), graph.type_of(context.out()))) {
    const std::string ones =
        graph.add_number(context.out() + "_ones", 1, context.operand_type(0).type, to);
    graph.add(context.op, {input, ones}, {graph.result(context.out(), identity)});
    return;
  }
  std::vector<std::uint32_t> multiples;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t missing = to.size() - from.size();
    const std::int64_t own = i < missing ? 1 : from[i - missing];
    multiples.push_back(static_cast<std::uint32_t>(to[i] / own));
  }
  graph.add("Tile", {input}, {graph.result(context.out(), identity)},
            {list_param("multiples", multiples)});
}

void lower_select(const NodeContext& context) {
  const Layout layout = context.shared_layout();
  context.graph.add(context.op,
                    {broadcast_operand(context, 0, layout), broadcast_operand(context, 1, layout),
                     broadcast_operand(context, 2, layout)},
                    {context.graph.result(context.out(), layout)});
}

}  // namespace halfstep::qnn
