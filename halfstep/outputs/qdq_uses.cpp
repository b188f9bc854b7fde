#include "halfstep/outputs/qdq_uses.h"

#include <algorithm>
#include <unordered_map>

#include "halfstep/model/node_keys.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::invalid_argument, message);
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string closest = closest_match(name, candidates);
  return closest.empty() ? "" : "; did you mean \"" + closest + "\"?";
}

/// The nodes of a graph by their key.
class NodesByKey {
 public:
  explicit NodesByKey(const onnx::GraphProto& graph) : graph_(graph), keys_(graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      nodes_.emplace(keys_.key(i), i);
    }
  }

  Consumer find(const Use& use) const {
    const auto found = nodes_.find(use.node);
    if (found == nodes_.end()) {
      fail("no node \"" + use.node + "\" in the model" + suggestion(use.node, known()));
    }
    const onnx::NodeProto& node = graph_.node(found->second);
    const int slot = static_cast<int>(use.slot);
    if (slot >= node.input_size() || node.input(slot).empty()) {
      fail("node \"" + use.node + "\" has no input " + std::to_string(slot) + " (it has " +
           std::to_string(node.input_size()) + " inputs)");
    }
    return {.node = found->second, .slot = slot};
  }

 private:
  std::vector<std::string> known() const {
    std::vector<std::string> result;
    for (int i = 0; i < graph_.node_size(); ++i) {
      result.push_back(keys_.key(i));
    }
    return result;
  }

  const onnx::GraphProto& graph_;
  NodeKeys keys_;
  std::unordered_map<std::string, int> nodes_{};
};

}  // namespace

EncodedUses find_uses(const EncodingTable& table, const GraphIndex& index, NameMaker& names) {
  EncodedUses result;
  if (table.uses().empty()) {
    return result;
  }
  const onnx::GraphProto& graph = index.graph();
  const NodesByKey nodes(graph);
  for (const auto& [use, encoding] : table.uses()) {
    const Consumer consumer = nodes.find(use);
    const std::string& tensor = graph.node(consumer.node).input(consumer.slot);
    std::vector<EncodedUse>& uses = result[tensor];
    const auto twin = std::find_if(uses.begin(), uses.end(), [&](const EncodedUse& other) {
      return other.consumer.node == consumer.node && *other.encoding == encoding;
    });
    uses.push_back(
        {.consumer = consumer,
         .derived = twin != uses.end() ? twin->derived : names.fresh(tensor + "_" + use.node),
         .encoding = &encoding});
  }
  for (auto& [tensor, uses] : result) {
    std::stable_sort(uses.begin(), uses.end(), [](const EncodedUse& a, const EncodedUse& b) {
      return a.consumer.node < b.consumer.node;
    });
  }
  return result;
}

bool has_tensor(const GraphIndex& index, std::string_view tensor) {
  return index.producer(tensor) >= 0 || index.constant(tensor) != nullptr ||
         index.is_graph_input(tensor) || !index.consumers(tensor).empty();
}

void require_tensor(const GraphIndex& index, const std::string& tensor) {
  if (!has_tensor(index, tensor)) {
    fail("no tensor \"" + tensor + "\" in the model" + suggestion(tensor, index.tensor_names()));
  }
}

}  // namespace halfstep
