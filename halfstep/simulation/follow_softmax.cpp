#include <optional>
#include <string>
#include <string_view>

#include "halfstep/model/op_facts.h"
#include "halfstep/simulation/follow.h"
#include "halfstep/simulation/target_ops.h"

namespace halfstep::simulation {
namespace {

/// Before this opset the operators flatten their input, and axis is 1 by default.
constexpr int kOneAxis = 13;

std::string_view target_softmax(const std::string& type) {
  return type == "Softmax" ? kSoftmax : type == "LogSoftmax" ? kLogSoftmax : std::string_view();
}

void follow_softmax(Following& following, int i) {
  const onnx::NodeProto& op = following.node(i);
  const std::optional<Codes> operand = following.operand(op.input(0));
  const int quantize = following.only_reader(op.output(0));
  if (!operand || !operand->is_activation() || quantize < 0 ||
      following.node(quantize).op_type() != "QuantizeLinear") {
    return;
  }
  const std::optional<Codes> result = following.result(following.node(quantize));
  if (!result || !result->is_activation()) {
    return;
  }
  TargetNode node(target_softmax(op.op_type()), following.names.fresh(op.output(0) + "_softmax"));
  node.input(op.input(0))
      .output(op.output(0))
      .set(kScale, operand->scales[0])
      .set(kStep, result->scales[0])
      .set(kAxis, int_attribute(op, "axis", -1));
  following.editor.insert_before(i, node.take());
  following.editor.remove_node(i);
  ++following.followed;
}

}  // namespace

void follow_softmaxes(Following& following) {
  if (following.model.opset() < kOneAxis) {
    return;
  }
  for (int i = 0; i < following.model.graph().node_size(); ++i) {
    const onnx::NodeProto& node = following.node(i);
    if (is_onnx_domain(node) && !target_softmax(node.op_type()).empty()) {
      follow_softmax(following, i);
    }
  }
}

}  // namespace halfstep::simulation
