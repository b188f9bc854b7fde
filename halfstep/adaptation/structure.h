#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "halfstep/model/graph_index.h"
#include "halfstep/targets/target.h"

namespace halfstep {

/// A super group found in a model.
struct FoundGroup {
  const SuperGroup* pattern = nullptr;
  std::vector<int> nodes{};  ///< in order; each writes what the next one reads
};

/// What a target's patterns mean for one graph: which nodes run as one.
class GraphStructure {
 public:
  /// `usable(node)` is false for nodes that may not be part of a group (the user wants them float).
  GraphStructure(const GraphIndex& graph, const Target& target,
                 const std::function<bool(int node)>& usable);
  /// The same for a target with tables of kernels: `op_of(node)` is its name of a node's operator,
  /// empty for none; `type_of(tensor)` what the end of a group is stored as (nothing: float), since
  /// some groups are fused for some types only; `encoded(tensor)`: somebody gave it an encoding,
  /// so it can't stand between a product and its bias.
  GraphStructure(const GraphIndex& graph, const Target& target,
                 const std::function<bool(int node)>& usable,
                 const std::function<std::string(int node)>& op_of,
                 const std::function<std::optional<Dtype>(const std::string& tensor)>& type_of,
                 const std::function<bool(const std::string& tensor)>& encoded);

  [[nodiscard]] const std::vector<FoundGroup>& groups() const noexcept { return groups_; }
  /// The group a node belongs to, null if none.
  [[nodiscard]] const FoundGroup* group_of(int node) const;
  /// A tensor between two nodes of a group: it gets no encoding and is not observed.
  [[nodiscard]] bool is_inner(std::string_view tensor) const { return inner_.contains(tensor); }

 private:
  std::vector<FoundGroup> groups_{};
  std::vector<int> group_of_{};
  std::unordered_set<std::string_view> inner_{};
};

/// Does this node only move data on `target` (attribute and zero-input conditions included)?
[[nodiscard]] bool moves_data(const GraphIndex& graph, const Model& model, const Target& target,
                              const onnx::NodeProto& node);

/// The input slot of a two-input node (Add) that holds a constant per output channel, -1 if there
/// is none: a float32 constant whose last extent is the only one above 1.
[[nodiscard]] int constant_bias_slot(const GraphIndex& graph, const onnx::NodeProto& node);

}  // namespace halfstep
