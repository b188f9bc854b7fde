#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <onnx/onnx_pb.h>

namespace halfstep {

/// A name for every node of a graph that no other node has: its own where that is set and unique,
/// else the name of its first output. (node, input slot) in an EncodingTable uses it.
class NodeKeys {
 public:
  explicit NodeKeys(const onnx::GraphProto& graph);
  [[nodiscard]] const std::string& key(int node) const {
    return keys_[static_cast<std::size_t>(node)];
  }

 private:
  std::vector<std::string> keys_{};
};

}  // namespace halfstep
