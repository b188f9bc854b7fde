#include <algorithm>
#include <string>
#include <vector>

#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/adaptation/precision.h"
#include "halfstep/adaptation/structure.h"

namespace halfstep {
namespace {

/// Is the group fused for activations of the type that its end was asked to be? (float: nothing to
/// lose)
bool fused_for(const SuperGroup& pattern, const Encoding* end) {
  if (pattern.types.empty() || end == nullptr || end->is_float()) {
    return true;
  }
  return std::any_of(pattern.types.begin(), pattern.types.end(), [end](const std::string& type) {
    for (std::size_t i = 0; i < kKernelTypes; ++i) {
      const auto kernel_type = static_cast<KernelType>(i);
      if (name(kernel_type) == type) {
        return dtype_of(kernel_type) == end->dtype;
      }
    }
    return false;
  });
}

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
  const GraphStructure structure(state.graph, state.target, usable, op_of);
  for (const FoundGroup& group : structure.groups()) {
    const std::string& end = state.node(group.nodes.back()).output(0);
    if (!fused_for(*group.pattern, state.requested.find(end))) {
      continue;
    }
    const std::string label = group_label(state, group);
    if (const std::string inner = encoded_inner(state, group); !inner.empty()) {
      state.warn("adapt/super-group-inner-encoding", inner,
                 "tensor '" + inner + "' inside " + label + " has an encoding (" +
                     describe(*state.requested.find(inner)) +
                     "), so this is no super group; " + state.target.name() +
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
