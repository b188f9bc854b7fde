#include <optional>
#include <string>
#include <string_view>

#include "halfstep/model/op_facts.h"
#include "halfstep/simulation/follow.h"
#include "halfstep/simulation/target_ops.h"

namespace halfstep::simulation {
namespace {

float float_attribute(const onnx::NodeProto& node, std::string_view name, float fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr ? fallback : attribute->f();
}

/// Name of the target's operator; empty if the node is no norm.
std::string_view target_norm(const std::string& type) {
  return type == "LayerNormalization"      ? kLayerNorm
         : type == "RMSNormalization"      ? kRmsNorm
         : type == "InstanceNormalization" ? kInstanceNorm
                                           : std::string_view();
}

/// Known for: only LayerNorm has a kernel for signed codes.
bool is_known(const onnx::NodeProto& norm, const Codes& codes) {
  return codes.is_activation() &&
         (codes.type == onnx::TensorProto::UINT8 || norm.op_type() == "LayerNormalization");
}

bool over_last_axis(const Following& following, const onnx::NodeProto& norm) {
  if (norm.op_type() == "InstanceNormalization") {
    return true;
  }
  const std::int64_t axis = int_attribute(norm, "axis", -1);
  const std::optional<Shape> shape = following.index.type(norm.input(0)).shape;
  return axis == -1 || (shape && axis == static_cast<std::int64_t>(shape->size()) - 1);
}

void follow_norm(Following& following, int i) {
  const onnx::NodeProto& norm = following.node(i);
  const std::optional<Codes> operand = following.operand(norm.input(0));
  const std::optional<Codes> gamma =
      norm.input_size() > 1 ? following.operand(norm.input(1)) : std::nullopt;
  const int quantize = following.only_reader(norm.output(0));
  if (!gamma || gamma->scales.size() != 1 || norm.output_size() != 1 ||
      !over_last_axis(following, norm) || !operand || !is_known(norm, *operand) || quantize < 0 ||
      following.node(quantize).op_type() != "QuantizeLinear") {
    return;
  }
  const std::optional<Codes> result = following.result(following.node(quantize));
  if (!result || !is_known(norm, *result)) {
    return;
  }
  TargetNode node(target_norm(norm.op_type()), following.names.fresh(norm.output(0) + "_norm"));
  for (const std::string& input : norm.input()) {
    node.input(input);
  }
  constexpr float kDefaultEpsilon = 1e-5F;
  node.output(norm.output(0))
      .set(kStep, result->scales[0])
      .set(kZeroPoint, result->zero_points[0])
      .set(kScale, operand->scales[0])
      .set(kGammaScale, gamma->scales[0])
      .set(kEpsilon, float_attribute(norm, "epsilon", kDefaultEpsilon));
  following.editor.insert_before(i, node.take());
  following.editor.remove_node(i);
  ++following.followed;
}

}  // namespace

void follow_norms(Following& following) {
  for (int i = 0; i < following.model.graph().node_size(); ++i) {
    const onnx::NodeProto& node = following.node(i);
    if (is_onnx_domain(node) && !target_norm(node.op_type()).empty()) {
      follow_norm(following, i);
    }
  }
}

}  // namespace halfstep::simulation
