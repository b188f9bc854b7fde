#include <optional>
#include <string>

#include "halfstep/model/op_facts.h"
#include "halfstep/simulation/follow.h"

namespace halfstep::simulation {
namespace {

constexpr int kHops = 4;

bool casts_to(const onnx::NodeProto& node, int type) {
  return node.op_type() == "Cast" && int_attribute(node, "to", 0) == type;
}

/// Are the values of `tensor` float16 numbers?
bool is_float16(const Following& following, std::string tensor) {
  for (int hops = 0; hops < kHops; ++hops) {
    if (following.index.type(tensor).elem_type == onnx::TensorProto::FLOAT16) {
      return true;
    }
    const int producer = following.index.producer(tensor);
    if (producer < 0 || (following.node(producer).op_type() != "Identity" &&
                         following.node(producer).op_type() != "Cast")) {
      return false;
    }
    if (casts_to(following.node(producer), onnx::TensorProto::FLOAT16)) {
      return true;
    }
    tensor = following.node(producer).input(0);
  }
  return false;
}

/// Do values of node `i`, an Identity or Cast, become float16 numbers?
bool makes_float16(const Following& following, int i) {
  for (int hops = 0; hops < kHops && i >= 0; ++hops) {
    if (casts_to(following.node(i), onnx::TensorProto::FLOAT16)) {
      return true;
    }
    if (following.node(i).op_type() != "Identity") {
      return false;
    }
    i = following.only_reader(following.node(i).output(0));
  }
  return false;
}

/// Float16 values that become 8-bit codes and float16 again are clamped to what the codes can hold,
/// not rounded (measured, also where something else reads the codes).
void follow_float16(Following& following, int i) {
  const std::string& values = following.node(i).input(0);
  const std::optional<Codes> codes = following.operand(values);
  if (!codes || !codes->is_activation() || !makes_float16(following, i)) {
    return;
  }
  const std::string& stored = following.node(following.index.producer(values)).input(0);
  const int quantize = following.index.producer(stored);
  if (quantize < 0 || following.node(quantize).op_type() != "QuantizeLinear" ||
      !is_float16(following, following.node(quantize).input(0))) {
    return;
  }
  const bool is_signed = codes->type == onnx::TensorProto::INT8;
  const float lowest = is_signed ? -128.0F : 0.0F, steps = 255.0F;
  const float low = (lowest - codes->zero_points[0]) * codes->scales[0];
  const float high = (lowest + steps - codes->zero_points[0]) * codes->scales[0];
  const std::string name = following.node(i).output(0);
  following.editor.set_input(
      i, 0,
      following.insert(i, "Clip",
                       {following.node(quantize).input(0), following.scalar(name + "_low", low),
                        following.scalar(name + "_high", high)},
                       name + "_clamped"));
  ++following.followed;
}

}  // namespace

void follow_floats(Following& following) {
  for (int i = 0; i < following.model.graph().node_size(); ++i) {
    const std::string& type = following.node(i).op_type();
    if (is_onnx_domain(following.node(i)) && (type == "Identity" || type == "Cast")) {
      follow_float16(following, i);
    }
  }
}

}  // namespace halfstep::simulation
