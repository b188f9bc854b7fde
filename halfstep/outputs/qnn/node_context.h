#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/outputs/qnn/graph_builder.h"

namespace halfstep::qnn {

/// One node on its way into the QNN graph: what a lowering reads, and the graph it adds to.
struct NodeContext {
  GraphBuilder& graph;
  int index;
  const onnx::NodeProto& node;
  const std::string& op;  ///< the target's name of the operator

  [[nodiscard]] bool has(int slot) const {
    return slot < node.input_size() && !node.input(slot).empty();
  }
  [[nodiscard]] bool wants(int output) const {
    return output < node.output_size() && !node.output(output).empty();
  }
  [[nodiscard]] const std::string& in(int slot) const { return node.input(slot); }
  [[nodiscard]] const std::string& out(int i = 0) const { return node.output(i); }
  [[nodiscard]] const Shape& in_shape(int slot) const { return graph.shape(node.input(slot)); }
  [[nodiscard]] const Shape& out_shape(int i = 0) const { return graph.shape(node.output(i)); }
  [[nodiscard]] std::size_t rank(int slot = 0) const { return in_shape(slot).size(); }
  [[nodiscard]] bool is_constant(int slot) const { return graph.is_constant(node.input(slot)); }

  [[nodiscard]] std::int64_t attribute(std::string_view name, std::int64_t fallback) const;
  [[nodiscard]] float attribute(std::string_view name, float fallback) const;
  [[nodiscard]] std::string attribute(std::string_view name, const char* fallback) const;
  [[nodiscard]] std::vector<std::int64_t> list(std::string_view name) const;
  /// The attribute or, in later versions of the operator, the constant input. Empty if neither is
  /// given. Errors: unsupported if the input is computed.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view name,
                                                                  int slot) const;
  [[nodiscard]] std::optional<float> number(std::string_view name, int slot) const;
  /// Attribute `axis` counted from the front.
  [[nodiscard]] std::int64_t axis(std::int64_t fallback, std::size_t rank) const;

  /// The operand in a layout, constant or not.
  [[nodiscard]] std::string operand(int slot, const Layout& layout) const;
  /// The operand as the model has it.
  [[nodiscard]] std::string operand(int slot) const;
  /// Its type: of an activation, or of the constant in this use.
  [[nodiscard]] TensorType operand_type(int slot) const;
  /// The layout that the inputs suggest: channels last if one of them that has the result's rank is
  /// there so.
  [[nodiscard]] Layout shared_layout() const;

  /// Errors: always, unsupported with the reason; the caller adds the node.
  [[noreturn]] void refuse(const std::string& reason) const;
};

/// Adds the operators of one node.
using LowerNode = void (*)(const NodeContext& context);

/// By the target's name of an operator; null if there is no lowering. Names such as
/// "ElementWiseNeuron.Softplus" stand for an operation of a generic operator.
[[nodiscard]] LowerNode find_lowering(std::string_view op) noexcept;

}  // namespace halfstep::qnn
