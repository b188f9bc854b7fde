#include "halfstep/outputs/encodings_json.h"

#include <unordered_set>

#include "halfstep/model/tensor_role.h"
#include "halfstep/outputs/qdq_uses.h"
#include "halfstep/version.h"

namespace halfstep {
namespace {

/// Collects the entries of a table in the order in which the graph meets their tensors.
class GraphOrder {
 public:
  GraphOrder(const EncodingTable& table, const GraphIndex& index)
      : table_(table),
        index_(index),
        names_(index.graph()),
        uses_(find_uses(table, index, names_)) {}

  std::vector<NamedEncoding> collect() {
    const onnx::GraphProto& graph = index_.graph();
    for (const onnx::ValueInfoProto& input : graph.input()) {
      add(input.name());
    }
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) {
        add(input);
      }
      for (const std::string& output : node.output()) {
        add(output);
      }
    }
    for (const auto& [tensor, encoding] : table_) {
      require_tensor(index_, tensor);
      add(tensor);
    }
    return std::move(entries_);
  }

 private:
  void add(const std::string& tensor) {
    if (tensor.empty() || !seen_.insert(tensor).second) {
      return;
    }
    if (const Encoding* encoding = table_.find(tensor)) {
      entries_.push_back({.name = tensor, .encoding = encoding, .facts = facts(tensor)});
    }
    const auto uses = uses_.find(tensor);
    if (uses == uses_.end()) {
      return;
    }
    for (const EncodedUse& use : uses->second) {
      if (seen_.insert(use.derived).second) {
        entries_.push_back({.name = use.derived, .encoding = use.encoding, .facts = facts(tensor)});
      }
    }
  }

  /// Constants that are no parameters count as activations, where no reader of old files loses
  /// them.
  TensorFacts facts(const std::string& tensor) const {
    const TensorRole role = tensor_role(index_, tensor);
    return {.shape = role.shape,
            .parameter = role.constant && (role.weight || role.bias),
            .channel_axis = role.channel_axis,
            .block_axis = role.block_axis};
  }

  const EncodingTable& table_;
  const GraphIndex& index_;
  NameMaker names_;
  EncodedUses uses_;
  std::unordered_set<std::string> seen_{};
  std::vector<NamedEncoding> entries_{};
};

}  // namespace

std::string write_encodings(const EncodingTable& table, const GraphIndex& graph) {
  return write_encodings(table, graph, EncodingsVersion::v2_0_0);
}

std::string write_encodings(const EncodingTable& table, const GraphIndex& graph,
                            EncodingsVersion version) {
  const std::vector<NamedEncoding> entries = GraphOrder(table, graph).collect();
  return write_encodings_text(entries, version,
                              {.package = "halfstep", .version = std::string(kVersion)});
}

}  // namespace halfstep
