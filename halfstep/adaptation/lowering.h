#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/targets/target.h"

namespace halfstep {

/// The operator of the target that computes a node, and which inputs are its operands.
struct LoweredNode {
  const Lowering* row = nullptr;  ///< null: the target has no operator for it
  std::vector<int> operands{};    ///< ONNX input slots, in the order of the target's operator
  [[nodiscard]] const std::string& op() const { return row->op; }
};

/// By node index. `weight_encoding(node)` is the encoding of the node's weight, null if it has
/// none: weights in blocks go to another operator.
[[nodiscard]] std::vector<LoweredNode> lower_nodes(
    const GraphIndex& graph, const KernelFacts& facts,
    const std::function<const Encoding*(int node)>& weight_encoding);

/// Does the node compute on float32, float16, bfloat16 or float64? (Shape and Size read no values.)
[[nodiscard]] bool touches_float(const GraphIndex& graph, const onnx::NodeProto& node);
[[nodiscard]] bool is_float_tensor(const GraphIndex& graph, const std::string& tensor);

}  // namespace halfstep
