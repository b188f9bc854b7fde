#include "halfstep/outputs/qdq_uses.h"

#include <algorithm>
#include <unordered_map>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr int kSeveral = -1;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::invalid_argument, message);
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string closest = closest_match(name, candidates);
  return closest.empty() ? "" : "; did you mean \"" + closest + "\"?";
}

std::unordered_map<std::string, int> nodes_by_key(const onnx::GraphProto& graph) {
  std::unordered_map<std::string, int> result;
  for (int i = 0; i < graph.node_size(); ++i) {
    const auto [entry, added] = result.emplace(use_key(graph.node(i)), i);
    if (!added) {
      entry->second = kSeveral;
    }
  }
  return result;
}

Consumer find_consumer(const Use& use, const std::unordered_map<std::string, int>& nodes,
                       const onnx::GraphProto& graph) {
  const auto found = nodes.find(use.node);
  if (found == nodes.end()) {
    std::vector<std::string> known;
    for (const onnx::NodeProto& node : graph.node()) {
      known.push_back(use_key(node));
    }
    fail("no node \"" + use.node + "\" in the model" + suggestion(use.node, known));
  }
  if (found->second == kSeveral) {
    fail("several nodes are called \"" + use.node +
         "\", so its inputs can't have encodings of their own; give the nodes unique names");
  }
  const onnx::NodeProto& node = graph.node(found->second);
  const int slot = static_cast<int>(use.slot);
  if (slot >= node.input_size() || node.input(slot).empty()) {
    fail("node \"" + use.node + "\" has no input " + std::to_string(slot) + " (it has " +
         std::to_string(node.input_size()) + " inputs)");
  }
  return {.node = found->second, .slot = slot};
}

}  // namespace

const std::string& use_key(const onnx::NodeProto& node) {
  static const std::string kNothing;
  if (!node.name().empty()) {
    return node.name();
  }
  return node.output_size() > 0 ? node.output(0) : kNothing;
}

EncodedUses find_uses(const EncodingTable& table, const GraphIndex& index, NameMaker& names) {
  EncodedUses result;
  if (table.uses().empty()) {
    return result;
  }
  const onnx::GraphProto& graph = index.graph();
  const auto nodes = nodes_by_key(graph);
  for (const auto& [use, encoding] : table.uses()) {
    const Consumer consumer = find_consumer(use, nodes, graph);
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
