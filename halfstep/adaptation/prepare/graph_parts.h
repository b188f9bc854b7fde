#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/model/model.h"

namespace halfstep {

// What passes need that work on one graph of a model, be it the main graph or a body: GraphIndex
// knows the main graph only.

/// The constants that a graph sees: its own and those of the graphs around it, as far as no inner
/// tensor of the same name hides them.
class ConstantScope {
 public:
  ConstantScope(const onnx::GraphProto& graph, std::int64_t ir_version, const ConstantScope* outer);
  /// Null if `name` is no constant.
  [[nodiscard]] const onnx::TensorProto* constant(const std::string& name) const;
  /// Is `name` made in this very graph: an input, a constant, or written by a node?
  [[nodiscard]] bool is_own(const std::string& name) const { return own_.contains(name); }
  void add(const onnx::TensorProto& tensor) { own_[tensor.name()] = &tensor; }
  void remove(const std::string& name) { own_.erase(name); }

 private:
  std::unordered_map<std::string, const onnx::TensorProto*> own_{};  ///< null: no constant
  const ConstantScope* outer_;
};

/// One place where a tensor is read. Slot -1: in a body below the node; -2: an output of the graph.
struct GraphReader {
  int node = 0;
  int slot = 0;
};

/// Who reads what in one graph. A name that stands inside a body counts as read there even if the
/// body has a tensor of its own with that name.
class GraphReaders {
 public:
  GraphReaders() = default;
  explicit GraphReaders(const onnx::GraphProto& graph);
  [[nodiscard]] const std::vector<GraphReader>& of(const std::string& tensor) const;

 private:
  std::unordered_map<std::string, std::vector<GraphReader>> readers_{};
};

/// May a node whose inputs are constant be computed once and for all? Not if it is random, has a
/// body, is of an unknown domain, or belongs to a quantized model, whose integers are meant to
/// stay.
[[nodiscard]] bool may_compute_beforehand(const onnx::NodeProto& node);

void remove_nodes(onnx::GraphProto& graph, const std::set<int>& removed);
void remove_initializers(onnx::GraphProto& graph, const std::set<std::string>& names);
/// Removes those of `names` that are constants of this graph, no input, and read by nobody.
void remove_unread(onnx::GraphProto& graph, const std::set<std::string>& names,
                   ConstantScope& scope);

/// Lists `tensor` as an input, as every initializer had to be before IR 4.
void add_input(onnx::GraphProto& graph, const onnx::TensorProto& tensor);

/// Values of a constant of type int64.
[[nodiscard]] std::vector<std::int64_t> int64_values(const Model& model,
                                                     const onnx::TensorProto& tensor);

}  // namespace halfstep
