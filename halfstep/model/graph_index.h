#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/model/model.h"

namespace halfstep {

/// Element type and shape as far as shape inference knows them; -1 is an unknown or symbolic
/// extent.
struct TensorType {
  int elem_type = 0;             ///< TensorProto.DataType, 0 unknown
  std::optional<Shape> shape{};  ///< empty: not even the rank is known
};

/// One input slot of a node of the main graph.
struct Consumer {
  int node = 0;  ///< index into graph().node()
  int slot = 0;
};

/// Answers "who makes, who reads, of what type" for the main graph in constant time. Built in
/// linear time; a snapshot: it does not follow later changes of the model. Names, producers and
/// types stay valid when nodes are rewired or added; constant() and graph() point into the living
/// model.
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
  /// overridden at IR >= 4) or the value of a Constant node. Null if it is not constant. The
  /// content is read with Model::data(); it may stand under another name than `tensor`.
  [[nodiscard]] const onnx::TensorProto* constant(std::string_view tensor) const;
  [[nodiscard]] bool is_graph_input(std::string_view tensor) const;
  [[nodiscard]] bool is_graph_output(std::string_view tensor) const;
  [[nodiscard]] TensorType type(std::string_view tensor) const;
  /// Every tensor name of the main graph: inputs, initializers, then what nodes write, in their
  /// order.
  [[nodiscard]] std::vector<std::string> tensor_names() const;
  /// "Conv 'conv1'" or, for a node without a name, "Conv (writes 'y')".
  [[nodiscard]] std::string label(int node) const;

 private:
  struct TensorFacts {
    int producer = -1;
    bool is_input = false, is_output = false;
    const onnx::TensorProto* constant = nullptr;
    std::vector<Consumer> consumers{};
    TensorType type{};
  };
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  TensorFacts& facts(const std::string& tensor);
  [[nodiscard]] const TensorFacts* find(std::string_view tensor) const;
  void add_constants(std::int64_t ir_version);
  void add_nodes();
  void add_constant_node(const onnx::NodeProto& node);
  void add_types(const onnx::GraphProto& inferred);

  const onnx::GraphProto* graph_;
  // Owns its names: those in the graph change under our feet when nodes are rewired.
  std::unordered_map<std::string, TensorFacts, Hash, std::equal_to<>> tensors_{};
  std::vector<std::string_view> order_{};
  std::deque<onnx::TensorProto> made_{};  ///< of Constant nodes with value_float, value_ints, ...
};

/// Makes names that clash with no tensor and no node of the graph or its subgraphs: "x_quantized",
/// "x_quantized_1", ...
class NameMaker {
 public:
  explicit NameMaker(const onnx::GraphProto& graph);
  [[nodiscard]] std::string fresh(std::string_view base);

 private:
  std::unordered_set<std::string> taken_{};
  std::unordered_map<std::string, int> next_{};  ///< by base, so that many clashes stay linear
};

/// Gives the second and later nodes of the same name fresh names ("conv_1"), in subgraphs, too.
/// ONNX allows repeated names, ONNX Runtime refuses them. Nodes without a name stay so. Returns how
/// many nodes got another name.
int make_node_names_unique(onnx::GraphProto& graph);

}  // namespace halfstep
