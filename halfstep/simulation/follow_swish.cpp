#include <optional>
#include <string>

#include "halfstep/model/op_facts.h"
#include "halfstep/simulation/follow.h"

namespace halfstep::simulation {
namespace {

/// The Sigmoid whose 8-bit codes `tensor` is made from, -1 if it is none.
int sigmoid_behind(const Following& following, const std::string& tensor) {
  const std::optional<Codes> codes = following.operand(tensor);
  if (!codes || !codes->is_activation()) {
    return -1;
  }
  const std::string& stored = following.node(following.index.producer(tensor)).input(0);
  const int quantize = following.index.producer(stored);
  if (quantize < 0 || following.node(quantize).op_type() != "QuantizeLinear") {
    return -1;
  }
  const int sigmoid = following.index.producer(following.node(quantize).input(0));
  return sigmoid >= 0 && following.node(sigmoid).op_type() == "Sigmoid" ? sigmoid : -1;
}

/// Are both made from the same codes?
bool same_codes(const Following& following, const std::string& a, const std::string& b) {
  const int first = following.index.producer(a), second = following.index.producer(b);
  return a == b || (first >= 0 && second >= 0 && following.operand(a) && following.operand(b) &&
                    following.node(first).input(0) == following.node(second).input(0));
}

/// x * sigmoid(x) of 8-bit codes is one function on the target: the codes of the Sigmoid have no
/// effect on the product, also where something else reads them (measured: all 256 codes, several
/// encodings; 16-bit codes, HardSigmoid and Tanh are multiplied as they are).
void follow_swish(Following& following, int i) {
  const onnx::NodeProto& product = following.node(i);
  const std::optional<Codes> result = following.clamped_result(product.output(0));
  if (!result) {
    return;
  }
  for (const int slot : {0, 1}) {
    const int sigmoid = sigmoid_behind(following, product.input(slot));
    const std::string& other = product.input(1 - slot);
    const std::optional<Codes> operand = following.operand(other);
    if (sigmoid >= 0 && operand && operand->is_activation() &&
        same_codes(following, following.node(sigmoid).input(0), other)) {
      following.editor.set_input(i, slot, following.node(sigmoid).output(0));
      ++following.followed;
      return;
    }
  }
}

}  // namespace

void follow_swishes(Following& following) {
  for (int i = 0; i < following.model.graph().node_size(); ++i) {
    const onnx::NodeProto& node = following.node(i);
    if (is_onnx_domain(node) && node.op_type() == "Mul") {
      follow_swish(following, i);
    }
  }
}

}  // namespace halfstep::simulation
