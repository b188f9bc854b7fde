#include "halfstep/model/node_keys.h"

namespace halfstep {

NodeKeys::NodeKeys(const onnx::GraphProto& graph) {
  std::unordered_map<std::string, int> bearers;
  for (const onnx::NodeProto& node : graph.node()) {
    ++bearers[node.name()];
  }
  for (const onnx::NodeProto& node : graph.node()) {
    const bool own = !node.name().empty() && bearers[node.name()] == 1;
    std::string key = node.name();
    for (int i = 0; !own && i < node.output_size(); ++i) {
      if (!node.output(i).empty()) {
        key = node.output(i);
        break;
      }
    }
    keys_.push_back(std::move(key));
  }
}

}  // namespace halfstep
