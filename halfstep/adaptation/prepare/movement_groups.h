#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/targets/target.h"

namespace halfstep {

/// Operators of a target that only move data and that ONNX writes as several nodes
/// (find_movement). While a model is adapted, one node of the domain qti_aisw stands in the place
/// of each group, as models of that converter have it; then the nodes come back under their names.
class MovementGroups {
 public:
  /// Puts one node in the place of each group that the target has an operator for. Encodings of
  /// the tensors between go if they were measured, or equal that of an end; another one that was
  /// given keeps the nodes apart. What was measured at the end that reads goes, too: the output
  /// holds values of the input, and zeros. Each is a note in `diagnostics`. Returns how many there
  /// are; `graph` is no index of the model any more if there are any.
  int collapse(Model& model, const GraphIndex& graph, EncodingTable& requested,
               const Target& target, Diagnostics& diagnostics);

  /// Brings the nodes back, each with the metadata halfstep.group (the name of the group) and
  /// halfstep.group_op (the operator and its parameters as JSON).
  void expand(Model& model) const;

  /// Tensors between the nodes: they have no encoding.
  [[nodiscard]] const std::unordered_set<std::string>& inner() const noexcept { return inner_; }
  /// Names that stand in the groups and must not be given to others.
  void reserve_names(NameMaker& names) const;

 private:
  struct Group {
    std::string name{}, op{};
    std::vector<onnx::NodeProto> nodes{};
  };
  std::vector<Group> groups_{};
  std::unordered_set<std::string> inner_{};
  bool added_domain_ = false;
};

}  // namespace halfstep
