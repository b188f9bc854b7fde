#include <array>
#include <optional>
#include <string>

#include "halfstep/model/op_facts.h"
#include "halfstep/simulation/fixed_point.h"
#include "halfstep/simulation/follow.h"

namespace halfstep::simulation {
namespace {

/// The target computes with unsigned codes: signed ones are moved by 128, with their zero point.
double moved_by(const Codes& codes) { return codes.type == onnx::TensorProto::INT8 ? 128 : 0; }

/// The codes that a DequantizeLinear makes `tensor` from.
const std::string& stored(const Following& following, const std::string& tensor) {
  return following.node(following.index.producer(tensor)).input(0);
}

void follow_sum(Following& following, int i) {
  const onnx::NodeProto& op = following.node(i);
  const std::optional<Codes> first = following.operand(op.input(0));
  const std::optional<Codes> second = following.operand(op.input(1));
  if (!first || !second || !first->is_activation() || !second->is_activation()) {
    return;
  }
  const std::optional<Codes> result = following.clamped_result(op.output(0));
  if (!result) {
    return;
  }
  const double step = result->scales[0];
  const double sign = op.op_type() == "Sub" ? -1 : 1;
  const std::array ratios = {first->scales[0] / step, sign * second->scales[0] / step};
  const std::array<double, 2> moves = {moved_by(*first), moved_by(*second)};
  const std::array<double, 2> zero_points = {first->zero_points[0] + moves[0],
                                             second->zero_points[0] + moves[1]};
  const double zero_point = result->zero_points[0] + moved_by(*result);
  const WeightedSum sum = weighted_sum(ratios, zero_points, zero_point);
  const double constant =
      sum.constant + moves[0] * sum.multipliers[0] + moves[1] * sum.multipliers[1];
  const std::string& name = op.output(0);
  std::array<std::string, 2> terms;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const std::string codes = following.insert(
        i, "Cast", {stored(following, op.input(static_cast<int>(k)))}, name + "_codes");
    const std::string multiplier = following.scalar(name + "_multiplier", sum.multipliers[k]);
    terms[k] = following.insert(i, "Mul", {codes, multiplier}, name + "_term");
  }
  const std::string both = following.insert(i, "Add", {terms[0], terms[1]}, name + "_terms");
  const std::string moved = following.insert(
      i, "Add", {both, following.scalar(name + "_constant", static_cast<float>(constant))},
      name + "_moved");
  const std::string code = following.insert(i, "Floor", {moved}, name + "_code");
  const std::string centred = following.insert(
      i, "Sub", {code, following.scalar(name + "_zero_point", static_cast<float>(zero_point))},
      name + "_centred");
  (void)following.insert(i, "Mul", {centred, following.scalar(name + "_step", result->scales[0])},
                         name + "_value", name);
  following.editor.remove_node(i);
  ++following.followed;
}

}  // namespace

void follow_sums(Following& following) {
  for (int i = 0; i < following.model.graph().node_size(); ++i) {
    const onnx::NodeProto& node = following.node(i);
    if (is_onnx_domain(node) && (node.op_type() == "Add" || node.op_type() == "Sub")) {
      follow_sum(following, i);
    }
  }
}

}  // namespace halfstep::simulation
