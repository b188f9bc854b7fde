#include <optional>
#include <string>

#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/adaptation/precision.h"
#include "halfstep/adaptation/structure.h"

namespace halfstep {
namespace {

std::string group_label(const AdaptationState& state, const FoundGroup& group) {
  std::string text;
  for (const int node : group.nodes) {
    text += (text.empty() ? "" : " + ") + state.graph.label(node);
  }
  return text;
}

/// An inner tensor that somebody gave an encoding, empty if there is none.
std::string encoded_inner(const AdaptationState& state, const FoundGroup& group) {
  for (std::size_t i = 0; i + 1 < group.nodes.size(); ++i) {
    const std::string& tensor = state.node(group.nodes[i]).output(0);
    if (state.requested.find(tensor) != nullptr) {
      return tensor;
    }
  }
  return "";
}

}  // namespace

void tag_super_groups(AdaptationState& state) {
  const auto op_of = [&state](int node) {
    const LoweredNode& lowered = state.lowered[static_cast<std::size_t>(node)];
    return lowered.row == nullptr ? std::string() : lowered.op();
  };
  const auto usable = [&state](int node) {
    return state.unit_of[static_cast<std::size_t>(node)] < 0;
  };
  const auto type_of = [&state](const std::string& tensor) {
    const Encoding* end = state.requested.find(tensor);
    return end == nullptr ? std::optional<Dtype>() : end->dtype;
  };
  const GraphStructure structure(state.graph, state.target, usable, op_of, type_of);
  for (const FoundGroup& group : structure.groups()) {
    const std::string& end = state.node(group.nodes.back()).output(0);
    const std::string label = group_label(state, group);
    if (const std::string inner = encoded_inner(state, group); !inner.empty()) {
      state.warn("adapt/super-group-inner-encoding", inner,
                 "tensor '" + inner + "' inside " + label + " has an encoding (" +
                     describe(*state.requested.find(inner)) + "), so this is no super group; " +
                     state.target.name() +
                     " fuses the two all the same and ignores it. Remove the encoding to get the "
                     "same numbers on the chip");
      continue;
    }
    for (const int node : group.nodes) {
      state.unit_of[static_cast<std::size_t>(node)] = static_cast<int>(state.units.size());
      if (node != group.nodes.back()) {
        state.inner.insert(state.node(node).output(0));
      }
    }
    state.note("adapt/super-group", end,
               label + " run as one (" + group.pattern->name + ", " + group.pattern->source + ")");
    state.units.push_back(
        {.kind = Unit::Kind::group, .nodes = group.nodes, .pattern = group.pattern});
  }
}

}  // namespace halfstep
