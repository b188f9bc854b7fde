#include <optional>
#include <string>

#include "halfstep/model/op_facts.h"
#include "halfstep/simulation/follow.h"

namespace halfstep::simulation {
namespace {

/// Is it one whose results are rounded to the input's encoding first?
bool is_linear_resize(const onnx::NodeProto& op) {
  const onnx::AttributeProto* mode = find_attribute(op, "mode");
  const onnx::AttributeProto* way = find_attribute(op, "coordinate_transformation_mode");
  return op.op_type() == "Resize" && mode != nullptr && mode->s() == "linear" &&
         (way == nullptr || way->s() != "align_corners");
}

/// Computes on codes without zero point, so halves are exact.
void follow_resize(Following& following, int i) {
  const onnx::NodeProto& op = following.node(i);
  const std::optional<Codes> operand = following.operand(op.input(0));
  const std::optional<Codes> result = following.clamped_result(op.output(0));
  if (!operand || !result || !operand->is_activation() || operand->type != result->type) {
    return;
  }
  constexpr float kHalf = 0.5F;
  const std::string name = op.output(0);
  const std::string stored = following.node(following.index.producer(op.input(0))).input(0);
  const std::string codes = following.insert(i, "Cast", {stored}, name + "_codes");
  const std::string zero_point = following.scalar(name + "_zero_point", operand->zero_points[0]);
  following.editor.set_input(i, 0,
                             following.insert(i, "Sub", {codes, zero_point}, name + "_centred"));
  const std::string mean = following.names.fresh(name + "_mean");
  following.editor.set_output(i, name, mean);
  const std::string moved = following.insert(
      i + 1, "Add", {mean, following.scalar(name + "_half", kHalf)}, name + "_moved");
  const std::string code = following.insert(i + 1, "Floor", {moved}, name + "_code");
  const std::string step = following.scalar(name + "_step", operand->scales[0]);
  (void)following.insert(i + 1, "Mul", {code, step}, name + "_value", name);
  ++following.followed;
}

}  // namespace

void follow_resizes(Following& following) {
  for (int i = 0; i < following.model.graph().node_size(); ++i) {
    const onnx::NodeProto& node = following.node(i);
    if (is_onnx_domain(node) && is_linear_resize(node)) {
      follow_resize(following, i);
    }
  }
}

}  // namespace halfstep::simulation
