#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "halfstep/model/model.h"

namespace halfstep {

/// Element type and shape as far as shape inference knows them; -1 is an unknown or symbolic extent.
struct TensorType {
  int elem_type = 0;             ///< TensorProto.DataType, 0 unknown
  std::optional<Shape> shape{};  ///< empty: not even the rank is known
};

/// One input slot of a node of the main graph.
struct Consumer {
  int node = 0;  ///< index into graph().node()
  int slot = 0;
};

/// Answers "who makes, who reads, of what type" for the main graph in constant time. Built in linear
/// time; a snapshot: it does not follow later changes of the model.
class GraphIndex {
 public:
  /// Runs shape inference (on a copy without weights).
  explicit GraphIndex(const Model& model);

  [[nodiscard]] const onnx::GraphProto& graph() const noexcept { return *graph_; }
  /// Index of the node that writes `tensor`, -1 for graph inputs, initializers and unknown names.
  [[nodiscard]] int producer(std::string_view tensor) const;
  /// In node order. Uses inside subgraphs count for the node that holds the subgraph (slot -1).
  [[nodiscard]] std::span<const Consumer> consumers(std::string_view tensor) const;
  /// The constant content of `tensor`: an initializer (that is not also a graph input that may be
  /// overridden at IR >= 4) or the value of a Constant node. Null if it is not constant.
  [[nodiscard]] const onnx::TensorProto* constant(std::string_view tensor) const;
  [[nodiscard]] bool is_graph_input(std::string_view tensor) const;
  [[nodiscard]] bool is_graph_output(std::string_view tensor) const;
  [[nodiscard]] TensorType type(std::string_view tensor) const;
  /// Every tensor name of the main graph.
  [[nodiscard]] std::vector<std::string> tensor_names() const;
  /// "Conv 'conv1'" or, for a node without a name, "Conv (writes 'y')".
  [[nodiscard]] std::string label(int node) const;

 private:
  const onnx::GraphProto* graph_;
  std::unordered_map<std::string_view, int> producers_{};
  std::unordered_map<std::string_view, std::vector<Consumer>> consumers_{};
  std::unordered_map<std::string_view, const onnx::TensorProto*> constants_{};
  std::unordered_set<std::string_view> inputs_{}, outputs_{};
  std::unordered_map<std::string, TensorType> types_{};
};

/// Makes names that clash with nothing in the graph or its subgraphs: "x_quantized", "x_quantized_1", ...
class NameMaker {
 public:
  explicit NameMaker(const onnx::GraphProto& graph);
  [[nodiscard]] std::string fresh(std::string_view base);

 private:
  std::unordered_set<std::string> taken_{};
};

}  // namespace halfstep
