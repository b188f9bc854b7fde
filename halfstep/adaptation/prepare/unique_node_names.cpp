#include "halfstep/adaptation/prepare/unique_node_names.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace halfstep {

void make_node_names_unique(Model& model, Diagnostics& diagnostics) {
  std::unordered_set<std::string> all;
  for (const onnx::NodeProto& node : model.graph().node()) {
    all.insert(node.name());
  }
  std::unordered_set<std::string> seen;
  std::unordered_map<std::string, int> last;  // number tried last, so that many clashes stay linear
  for (onnx::NodeProto& node : *model.graph().mutable_node()) {
    if (node.name().empty() || seen.insert(node.name()).second) {
      continue;
    }
    std::string fresh;
    int& number = last[node.name()];
    do {
      fresh = node.name() + "_" + std::to_string(++number);
    } while (!all.insert(fresh).second);
    diagnostics.push_back({.severity = Severity::note,
                           .rule = "prepare/unique-node-names",
                           .subject = node.name(),
                           .message = "two nodes are named '" + node.name() +
                                      "'; engines refuse that, so the one that writes '" +
                                      (node.output_size() > 0 ? node.output(0) : std::string()) +
                                      "' is called '" + fresh + "' in the result"});
    seen.insert(fresh);
    node.set_name(fresh);
  }
}

}  // namespace halfstep
