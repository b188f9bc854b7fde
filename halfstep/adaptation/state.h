#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "halfstep/adaptation/lowering.h"
#include "halfstep/adaptation/precision.h"
#include "halfstep/adaptation/structure.h"
#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/node_keys.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/targets/target.h"

namespace halfstep {

struct AdaptOptions {
  /// What tensors showed over the samples, where that is known: tells what leaves float16.
  std::map<std::string, RealRange> ranges{};
  /// An op whose symmetry or granularity no kernel takes moves to the nearest precision that does,
  /// instead of being an error.
  bool fallback = false;
  std::vector<std::string> skip{};  ///< names of adaptation_steps() to leave out
};

/// Nodes that run in one precision: a node by itself, a super group, a chain of data movement.
struct Unit {
  enum class Kind : std::uint8_t { single, group, chain };
  Kind kind = Kind::single;
  std::vector<int> nodes{};
  const SuperGroup* pattern = nullptr;  ///< of a group
  std::optional<Encoding> encoding{};   ///< of a chain: what all of it carries
};

/// What the kernel of a node reads and writes. Empty: no operand, or no number that needs a type.
struct OperandTypes {
  std::vector<std::optional<Encoding>> inputs{};   ///< by ONNX input slot
  std::vector<std::optional<Encoding>> outputs{};  ///< by ONNX output
  std::string kernel{};                            ///< row of the target file
};

/// A Convert that was put in: from one tensor to another.
struct ConvertRecord {
  std::string from{}, to{};
};

/// How often what happened, for the closing account.
struct AdaptTotals {
  int default_float = 0, propagated = 0, adapted = 0, converts = 0, super_groups = 0,
      movement_groups = 0;
};

/// What the passes know and decide about one model. Decisions that change the graph are collected
/// in `editor`; the model itself changes when all passes are done.
struct AdaptationState {
  AdaptationState(Model& model, const GraphIndex& graph, const Target& target,
                  EncodingTable requested, AdaptOptions options, Diagnostics& diagnostics);

  const Model& model;
  const GraphIndex& graph;
  const Target& target;
  const AdaptOptions options;
  Diagnostics& diagnostics;
  const NodeKeys keys;

  EncodingTable requested;             ///< what user, model and calibration want
  std::vector<LoweredNode> lowered{};  ///< by node
  std::vector<Unit> units{};
  std::vector<int> unit_of{};               ///< by node; -1: the node has no numbers
  std::unordered_set<std::string> inner{};  ///< tensors inside super groups: no encoding
  std::vector<OperandTypes> nodes{};        ///< by node
  std::vector<std::string> errors{};        ///< collected; the pass that has any fails

  std::vector<ConvertRecord> converts{};
  std::vector<std::string_view> done{};  ///< passes that have run

  GraphEditor editor;
  NameMaker names;
  EncodingTable result{};  ///< of the adapted model
  AdaptTotals totals{};

  [[nodiscard]] const onnx::NodeProto& node(int index) const { return graph.graph().node(index); }
  /// What the consumer wants of the tensor it reads: null if nothing was said.
  [[nodiscard]] const Encoding* wanted(int node, int slot) const;
  void note(std::string rule, const std::string& subject, std::string message);
  void warn(std::string rule, const std::string& subject, std::string message);
  /// Collects an error: the pass goes on, so that the user sees all of them at once.
  void fail(std::string_view rule, const std::string& message);
  /// Errors: unsupported with all that was collected.
  void throw_errors(std::string_view pass) const;
};

/// A node that a former adaptation put in: it only converts from one encoding to another.
[[nodiscard]] bool is_convert(const onnx::NodeProto& node);
void mark_convert(onnx::NodeProto& node);

}  // namespace halfstep
