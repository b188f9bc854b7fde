#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/model/model.h"
#include "halfstep/outputs/qnn/layout.h"

namespace halfstep::qnn {

/// What a target computes a node with.
struct NodeOp {
  std::string op{};             ///< "Conv2d", "ElementWiseNeuron.Softplus"; empty: nothing
  std::vector<int> operands{};  ///< input slots that hold operands; others are parameters
};
/// The name in NodeOp of a node that only converts between encodings.
inline constexpr const char* kConvertOp = "Convert";

/// An adapted model: what the passes of the adaptation left, as plain data.
struct LowerRequest {
  const Model& model;
  const EncodingTable& encodings;
  const std::unordered_set<std::string>& inner;  ///< tensors inside super groups: no encoding
  std::vector<NodeOp> nodes{};                   ///< by node of the main graph
  /// May weights have a float scale a block? A DLC can't hold them: beside float activations they
  /// become float16, with the rounding of their codes.
  bool block_scales = true;
};

/// Where a tensor of the model is in the lowered graph.
struct TensorPlace {
  std::string name{};  ///< of the graph's tensor, its own name but where another has the same bytes
  Layout layout{};
};

struct LoweredGraph {
  Graph graph{};
  /// By tensor of the model: activations, and constants that are read as they are.
  std::map<std::string, TensorPlace> places{};
  /// By operator of the graph: number of its super group, -1 for none.
  std::vector<int> groups{};
  /// Weights in blocks that became float16.
  std::vector<std::string> unpacked{};
};

/// Writes an adapted model in QNN operators. Spatial operators compute channels last; the layout
/// travels on through operators that don't care, and Transposes stand only where it has to change.
/// Graph inputs and outputs keep name, extents and order of axes; the types are those of their
/// encodings (int64: int32). A tensor that lies in another order keeps its name, its layout is in
/// `places`. Constants are stored in QNN's order, with the codes of their encodings.
/// A tensor inside a super group carries the encoding of the group's result, which the backend
/// computes in one step.
/// Errors: unsupported listing each node that has no form in QNN, with operator and reason; a
/// tensor of unknown extents.
[[nodiscard]] LoweredGraph lower(const LowerRequest& request);

}  // namespace halfstep::qnn
