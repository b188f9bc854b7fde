#include "halfstep/outputs/qdq_barrier.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

const Encoding* encoding_of_input(const EncodingTable& table, const onnx::NodeProto& node,
                                  int slot) {
  if (slot >= node.input_size() || node.input(slot).empty()) {
    return nullptr;
  }
  const Encoding* encoding = table.find(node.input(slot));
  return encoding == nullptr || encoding->is_float() ? nullptr : encoding;
}

/// Some other input is computed and quantized.
bool beside_quantized_activation(const EncodingTable& table, const GraphIndex& index,
                                 const onnx::NodeProto& node, int slot) {
  for (int i = 0; i < node.input_size(); ++i) {
    if (i != slot && encoding_of_input(table, node, i) != nullptr &&
        index.constant(node.input(i)) == nullptr) {
      return true;
    }
  }
  return false;
}

/// Is the bias scale the product that the fused operator takes it for?
bool has_product_scale(const EncodingTable& table, const onnx::NodeProto& node,
                       const Encoding& bias) {
  constexpr float kTolerance = 1e-3F;  // of a bias step; products may be rounded in another order
  const auto facts = op_facts(node);
  const Encoding* input = encoding_of_input(table, node, 0);
  const Encoding* weight =
      facts.weight ? encoding_of_input(table, node, facts.weight->slot) : nullptr;
  const bool plain = input != nullptr && weight != nullptr && input->scale.size() == 1 &&
                     (std::holds_alternative<PerTensor>(weight->granularity) ||
                      std::holds_alternative<PerChannel>(weight->granularity));
  if (!plain) {
    return true;  // not fused
  }
  for (std::size_t i = 0; i < std::max(bias.scale.size(), weight->scale.size()); ++i) {
    const float product = input->scale[0] * weight->scale[weight->scale.size() == 1 ? 0 : i];
    const float scale = bias.scale[bias.scale.size() == 1 ? 0 : std::min(i, bias.scale.size() - 1)];
    if (!(std::abs(scale - product) <= kTolerance * product)) {
      return false;
    }
  }
  return true;
}

bool reads_16_bits(const EncodingTable& table, const onnx::NodeProto& node) {
  const Encoding* activation = encoding_of_input(table, node, 0);
  return activation != nullptr && is_integer(activation->dtype) && bits(activation->dtype) == 16;
}

bool is_bytes(Dtype dtype) { return dtype == Dtype::int8 || dtype == Dtype::uint8; }

}  // namespace

bool engine_misreads(const EncodingTable& table, const GraphIndex& index, const Encoding& encoding,
                     const Consumer& consumer) {
  const onnx::NodeProto& node = index.graph().node(consumer.node);
  if (!beside_quantized_activation(table, index, node, consumer.slot)) {
    return false;
  }
  if (encoding.dtype == Dtype::int2 || encoding.dtype == Dtype::uint2) {
    return !encoding.half_step;  // stored as int4
  }
  const bool blocks = std::holds_alternative<PerBlock>(encoding.granularity) ||
                      std::holds_alternative<Lpbq>(encoding.granularity);
  if (node.op_type() == "Conv" && blocks) {
    return is_bytes(encoding.dtype);
  }
  if (node.op_type() == "MatMul" && consumer.slot == 1 && reads_16_bits(table, node)) {
    return is_integer(encoding.dtype) && bits(encoding.dtype) <= 8;
  }
  return node.op_type() == "Gemm" && encoding.dtype == Dtype::int32 &&
         op_facts(node).bias_slot == consumer.slot && !has_product_scale(table, node, encoding);
}

}  // namespace halfstep
