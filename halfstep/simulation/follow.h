#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"

/// What the parts of follow_target share: reading Q/DQ pairs, adding operators of the target.
namespace halfstep::simulation {

/// Scales of a DequantizeLinear or QuantizeLinear without blocks.
struct Codes {
  std::vector<float> scales{};
  std::vector<float> zero_points{};  ///< as many as scales
  std::int64_t axis = 0;             ///< of the scales, from the front, if there are several
  int type = 0;                      ///< TensorProto.DataType of the codes
  [[nodiscard]] bool is_byte() const noexcept {
    return type == onnx::TensorProto::UINT8 || type == onnx::TensorProto::INT8;
  }
  /// 8-bit codes with one scale.
  [[nodiscard]] bool is_activation() const noexcept { return is_byte() && scales.size() == 1; }
};

/// A node that is being made.
class TargetNode {
 public:
  TargetNode(std::string_view type, std::string name);
  TargetNode& input(const std::string& tensor);
  TargetNode& output(const std::string& tensor);
  TargetNode& set(std::string_view attribute, std::int64_t value);
  TargetNode& set(std::string_view attribute, float value);
  TargetNode& set(std::string_view attribute, const std::vector<float>& values);
  [[nodiscard]] onnx::NodeProto take() { return std::move(node_); }

 private:
  onnx::AttributeProto& add(std::string_view name, onnx::AttributeProto::AttributeType type);
  onnx::NodeProto node_{};
};

/// A Q/DQ model that is being changed.
struct Following {
  explicit Following(Model& changed)
      : model(changed), index(changed), names(changed.graph()), editor(changed) {}

  [[nodiscard]] const onnx::NodeProto& node(int i) const { return model.graph().node(i); }
  /// What a DequantizeLinear makes `tensor` from.
  [[nodiscard]] std::optional<Codes> operand(const std::string& tensor) const;
  /// Is what a DequantizeLinear makes `tensor` from constant?
  [[nodiscard]] bool is_constant_operand(const std::string& tensor) const;
  /// What `quantize`, a QuantizeLinear, makes.
  [[nodiscard]] std::optional<Codes> result(const onnx::NodeProto& quantize) const;
  /// The only reader of `tensor`, if there is one and the tensor is no output of the graph; else
  /// -1.
  [[nodiscard]] int only_reader(std::string_view tensor) const;
  /// The 8-bit codes of one scale that `tensor` becomes, behind activations that only clamp.
  [[nodiscard]] std::optional<Codes> clamped_result(std::string tensor) const;

  Model& model;
  GraphIndex index;
  NameMaker names;
  GraphEditor editor;
  std::size_t followed = 0;

  /// A new scalar. Returns its name.
  std::string scalar(const std::string& name, float value);
  /// Inserts a node of the default domain in front of node `before`. Returns its output, which is
  /// `output` or fresh.
  std::string insert(int before, const std::string& type, const std::vector<std::string>& inputs,
                     const std::string& name, const std::string& output = "");

 private:
  [[nodiscard]] std::optional<Codes> codes(const onnx::NodeProto& node,
                                           const std::string& stored) const;
};

/// The bias that `node` (a product, or an Add behind one) reads at `slot`, as counts of `unit`, one
/// or one a channel: see bias_count, channel_bias_counts.
void follow_bias(Following& following, int node, int slot, const std::vector<float>& unit);
/// Conv, ConvTranspose, Gemm, MatMul.
void follow_products(Following& following);
/// Add, Sub.
void follow_sums(Following& following);
/// Float16 values through codes.
void follow_floats(Following& following);
/// x * Sigmoid(x).
void follow_swishes(Following& following);
/// Concat, Slice, Split, Max, Min, ReduceMax, ReduceMin, and nothing, between different encodings.
void follow_conversions(Following& following);
/// AveragePool, GlobalAveragePool.
void follow_pools(Following& following);
/// Linear Resize.
void follow_resizes(Following& following);
/// LayerNormalization, RMSNormalization.
void follow_norms(Following& following);
/// Softmax, LogSoftmax.
void follow_softmaxes(Following& following);

}  // namespace halfstep::simulation
