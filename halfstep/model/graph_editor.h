#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/model/model.h"

namespace halfstep {

/// Collects changes of the main graph and makes them all at once, in linear time. Node indices are
/// those of the graph before the changes, so a GraphIndex stays valid while changes are collected.
class GraphEditor {
 public:
  explicit GraphEditor(Model& model) : model_(&model) {}

  /// Adds an initializer at once; the ones that exist are not moved.
  void add_initializer(std::string name, Dtype dtype, const Shape& dims,
                       std::vector<std::byte> bytes);
  /// The same with content that is made when it is written.
  void add_initializer(std::string name, Dtype dtype, const Shape& dims, ByteProducer producer);
  /// Nodes inserted at the same place keep the order of the calls. `node` may be the node count.
  void insert_before(int node, onnx::NodeProto inserted);
  void remove_node(int node) { removed_nodes_.insert(node); }
  void remove_initializer(const std::string& name) { removed_initializers_.insert(name); }
  void rename_initializer(const std::string& from, std::string to);
  void set_input(int node, int slot, std::string tensor);
  void set_output(int node, const std::string& from, std::string to);
  /// Reads of the outer tensor `from` inside the subgraphs of `node` become reads of `to`.
  void rename_in_subgraphs(int node, const std::string& from, std::string to);

  void apply();

 private:
  struct Rename {
    int node;
    int slot;  ///< of an input; -1: output; -2: inside subgraphs
    std::string from, to;
  };
  void apply_renames();
  void apply_initializers();
  void apply_nodes();

  Model* model_;
  std::vector<std::pair<int, onnx::NodeProto>> inserted_{};
  std::unordered_set<int> removed_nodes_{};
  std::unordered_set<std::string> removed_initializers_{};
  std::unordered_map<std::string, std::string> renamed_initializers_{};
  std::vector<Rename> renames_{};
};

}  // namespace halfstep
