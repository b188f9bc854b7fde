#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/adaptation/precision.h"
#include "halfstep/adaptation/structure.h"
#include "halfstep/model/op_facts.h"

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

/// A product and the Add of a constant per output channel: one operator with a bias.
bool adds_bias(const FoundGroup& group) { return group.pattern->bias && group.nodes.size() > 1; }

void tag(AdaptationState& state, const FoundGroup& group) {
  for (const int node : group.nodes) {
    state.unit_of[static_cast<std::size_t>(node)] = static_cast<int>(state.units.size());
    if (node != group.nodes.back()) {
      state.inner.insert(state.node(node).output(0));
    }
  }
  const std::string& end = state.node(group.nodes.back()).output(0);
  if (adds_bias(group)) {
    state.note("adapt/bias-add", state.node(group.nodes[1]).output(0),
               state.graph.label(group.nodes[1]) + " adds the bias of " +
                   state.graph.label(group.nodes[0]) + ": one operator, no encoding between them");
  }
  if (!adds_bias(group) || group.nodes.size() > 2) {
    state.note("adapt/super-group", end,
               group_label(state, group) + " run as one (" + group.pattern->name + ", " +
                   group.pattern->source + ")");
  }
  state.units.push_back(
      {.kind = Unit::Kind::group, .nodes = group.nodes, .pattern = group.pattern});
}

const Encoding* weight_of(const AdaptationState& state, int node) {
  const std::optional<WeightFacts> facts = op_facts(state.node(node)).weight;
  return facts && facts->slot < state.node(node).input_size() && state.node(node).output_size() > 0
             ? state.wanted(node, facts->slot)
             : nullptr;
}

/// Weights in blocks are known to the engines of the target by a pattern that has no place for a
/// bias: product and Add stay two operators, and what passes between them
/// takes the range of the sum without the bias.
void keep_bias_apart(AdaptationState& state, int product) {
  const onnx::NodeProto& node = state.node(product);
  const Encoding* weight = weight_of(state, product);
  const auto readers = state.graph.consumers(node.output(0));
  if (weight == nullptr || !in_blocks(*weight) || readers.size() != 1 || readers[0].slot < 0 ||
      state.requested.find(node.output(0)) != nullptr) {
    return;
  }
  const onnx::NodeProto& add = state.node(readers[0].node);
  const int slot = add.op_type() == "Add" ? constant_bias_slot(state.graph, add) : -1;
  const Encoding* sum = slot < 0 ? nullptr : state.requested.find(add.output(0));
  if (sum == nullptr || sum->is_float() || sum->scale.size() != 1) {
    return;
  }
  const std::vector<float> bias = state.model.floats(*state.graph.constant(add.input(slot)));
  const auto [least, most] = std::minmax_element(bias.begin(), bias.end());
  if (bias.empty() || !std::isfinite(*least) || !std::isfinite(*most)) {
    return;
  }
  const RealRange range = real_range(*sum);
  const Encoding inner =
      encoding_over({.low = range.low - *most, .high = range.high - *least}, sum->dtype);
  state.note("adapt/bias-apart", node.output(0),
             "tensor '" + node.output(0) + "' between " + state.graph.label(product) +
                 " and its bias takes " + describe(inner) +
                 ": a product with weights in blocks takes no bias");
  state.requested.set(node.output(0), inner);
  state.requested.set(add.input(slot), encoding_over({.low = *least, .high = *most}, sum->dtype));
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
  const auto encoded = [&state](const std::string& tensor) {
    return state.requested.find(tensor) != nullptr;
  };
  const GraphStructure structure(state.graph, state.target, usable, op_of, type_of, encoded);
  for (FoundGroup group : structure.groups()) {
    if (const std::string inner = encoded_inner(state, group); !inner.empty()) {
      state.warn("adapt/super-group-inner-encoding", inner,
                 "tensor '" + inner + "' inside " + group_label(state, group) +
                     " has an encoding (" + describe(*state.requested.find(inner)) +
                     "), so this is no super group; " + state.target.name() +
                     " fuses the two all the same and ignores it. Remove the encoding to get the "
                     "same numbers on the chip");
      if (!adds_bias(group)) {
        continue;
      }
      group.nodes.resize(2);  // the product and its bias are one operator all the same
    }
    tag(state, group);
  }
  for (int node = 0; node < state.graph.graph().node_size(); ++node) {
    keep_bias_apart(state, node);
  }
}

}  // namespace halfstep
