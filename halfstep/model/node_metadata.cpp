#include "halfstep/model/node_metadata.h"

#include <algorithm>

namespace halfstep {

void set_metadata(onnx::NodeProto& node, std::string_view key, std::string_view value) {
  auto& entries = *node.mutable_metadata_props();
  const auto old = std::find_if(entries.begin(), entries.end(),
                                [key](const auto& entry) { return entry.key() == key; });
  onnx::StringStringEntryProto& entry = old != entries.end() ? *old : *entries.Add();
  entry.set_key(std::string(key));
  entry.set_value(std::string(value));
}

const std::string* find_metadata(const onnx::NodeProto& node, std::string_view key) {
  const auto& entries = node.metadata_props();
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [key](const auto& entry) { return entry.key() == key; });
  return found == entries.end() ? nullptr : &found->value();
}

}  // namespace halfstep
