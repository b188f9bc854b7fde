#include "halfstep/model/source_arithmetic.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "halfstep/model/node_metadata.h"

namespace halfstep {
namespace {

/// What each removed value is replaced by, and the names that kept values take.
struct Names {
  std::unordered_map<std::string, std::string> instead{};
  std::unordered_map<std::string, std::string> renamed{};

  [[nodiscard]] std::string resolve(const std::string& name) const {
    std::string result = name;
    for (auto found = instead.find(result); found != instead.end(); found = instead.find(result)) {
      result = found->second;
    }
    const auto called = renamed.find(result);
    return called == renamed.end() ? result : called->second;
  }
};

Names names_without(const onnx::GraphProto& graph) {
  Names names;
  for (const onnx::NodeProto& node : graph.node()) {
    const std::string* role = find_metadata(node, kArithmeticKey);
    if (role == nullptr || *role == kArithmeticAside || node.input_size() == 0) {
      continue;
    }
    names.instead[node.output(0)] = node.input(0);
    if (*role == kArithmeticResult) {
      std::string made = node.input(0);
      for (auto found = names.instead.find(made); found != names.instead.end();
           found = names.instead.find(made)) {
        made = found->second;
      }
      names.renamed[made] = node.output(0);
    }
  }
  return names;
}

}  // namespace

bool is_source_arithmetic(const onnx::NodeProto& node) {
  return find_metadata(node, kArithmeticKey) != nullptr;
}

bool is_source_arithmetic(const GraphIndex& graph, std::string_view tensor) {
  const int producer = graph.producer(tensor);
  if (producer >= 0 && is_source_arithmetic(graph.graph().node(producer))) {
    return true;
  }
  const auto readers = graph.consumers(tensor);
  return std::any_of(readers.begin(), readers.end(), [&](const Consumer& reader) {
    const std::string* role = find_metadata(graph.graph().node(reader.node), kArithmeticKey);
    return role != nullptr && *role == kArithmeticResult && reader.slot == 0;
  });
}

std::size_t remove_source_arithmetic(Model& model) {
  onnx::GraphProto& graph = model.graph();
  const Names names = names_without(graph);
  auto& nodes = *graph.mutable_node();
  int kept = 0;
  for (int i = 0; i < nodes.size(); ++i) {
    if (is_source_arithmetic(nodes[i])) {
      continue;
    }
    for (auto& input : *nodes[i].mutable_input()) {
      input = names.resolve(input);
    }
    for (auto& output : *nodes[i].mutable_output()) {
      const auto called = names.renamed.find(output);
      output = called == names.renamed.end() ? output : called->second;
    }
    nodes.SwapElements(kept++, i);
  }
  const auto removed = static_cast<std::size_t>(nodes.size() - kept);
  nodes.DeleteSubrange(kept, nodes.size() - kept);
  return removed;
}

}  // namespace halfstep
