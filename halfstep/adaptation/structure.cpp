#include "halfstep/adaptation/structure.h"

#include <algorithm>
#include <cstddef>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"
#include "halfstep/model/values.h"

namespace halfstep {
namespace {

bool is_one_of(const std::string& op_type, const std::vector<std::string>& ops) {
  return std::find(ops.begin(), ops.end(), op_type) != ops.end();
}

/// All inputs but `data_slot` are absent or constant: an activation's bounds are known.
bool others_constant(const GraphIndex& graph, const onnx::NodeProto& node, int data_slot) {
  for (int slot = 0; slot < node.input_size(); ++slot) {
    if (slot != data_slot && !node.input(slot).empty() &&
        graph.constant(node.input(slot)) == nullptr) {
      return false;
    }
  }
  return true;
}

int live_outputs(const onnx::NodeProto& node) {
  return static_cast<int>(std::count_if(node.output().begin(), node.output().end(),
                                        [](const std::string& name) { return !name.empty(); }));
}

/// The only reader of the node's only output, or nullptr.
const Consumer* single_reader(const GraphIndex& graph, const onnx::NodeProto& node) {
  if (live_outputs(node) != 1 || graph.is_graph_output(node.output(0))) {
    return nullptr;
  }
  const auto readers = graph.consumers(node.output(0));
  return readers.size() == 1 && readers[0].slot >= 0 ? &readers[0] : nullptr;
}

/// A constant weight, and one added constant for each of its output channels. Without a constant
/// weight the added constant is no bias: a mask on attention scores, say.
bool adds_bias(const GraphIndex& graph, const onnx::NodeProto& node, int data_slot,
               const onnx::NodeProto& previous) {
  const int slot = constant_bias_slot(graph, node);
  const OpFacts facts = op_facts(previous);
  const auto given = [&previous](int input) {
    return input < previous.input_size() && !previous.input(input).empty();
  };
  if (slot != 1 - data_slot || !facts.weight || !given(facts.weight->slot) ||
      (facts.bias_slot && given(*facts.bias_slot)) ||
      static_constant(graph, previous.input(facts.weight->slot)) == nullptr) {
    return false;
  }
  const std::optional<Shape> shape = graph.type(previous.input(facts.weight->slot)).shape;
  if (!shape || shape->size() < 2) {
    return !shape;
  }
  const auto axis =
      static_cast<std::size_t>(normalized_axis(facts.weight->channel_axis, shape->size()));
  return shape_of(*graph.constant(node.input(slot))).back() ==
         (*shape)[axis] * std::max<std::int64_t>(1, facts.weight->channel_repeat);
}

bool fits_stage(const GraphIndex& graph, const SuperGroup& pattern, std::size_t stage,
                const std::string& op, const onnx::NodeProto& previous, const Consumer& reader) {
  const onnx::NodeProto& node = graph.graph().node(reader.node);
  if (!is_one_of(op, pattern.ops[stage]) || live_outputs(node) != 1) {
    return false;
  }
  if (pattern.bias && stage == 1) {
    return adds_bias(graph, node, reader.slot, previous);
  }
  return others_constant(graph, node, reader.slot);
}

/// May `head` be the first of the group?
bool fits_head(const SuperGroup& pattern, const onnx::NodeProto& head) {
  const onnx::AttributeProto* strides =
      pattern.odd_strides ? find_attribute(head, "strides") : nullptr;
  return strides == nullptr || std::none_of(strides->ints().begin(), strides->ints().end(),
                                            [](std::int64_t stride) { return stride % 2 == 0; });
}

/// Is the group fused where its end is stored as `type`?
bool fused_for(const SuperGroup& pattern, std::optional<Dtype> type) {
  if (pattern.types.empty() || !type || is_floating(*type)) {
    return true;
  }
  return std::any_of(pattern.types.begin(), pattern.types.end(), [&](const std::string& name) {
    const std::optional<KernelType> listed = find_kernel_type(name);
    return listed && dtype_of(*listed) == type;
  });
}

}  // namespace

GraphStructure::GraphStructure(const GraphIndex& graph, const Target& target,
                               const std::function<bool(int node)>& usable)
    : GraphStructure(
          graph, target, usable,
          [&graph](int node) {
            const onnx::NodeProto& proto = graph.graph().node(node);
            return is_onnx_domain(proto) ? proto.op_type() : std::string();
          },
          [](const std::string&) { return std::optional<Dtype>(); },
          [](const std::string&) { return false; }) {}

GraphStructure::GraphStructure(
    const GraphIndex& graph, const Target& target, const std::function<bool(int node)>& usable,
    const std::function<std::string(int node)>& op_of,
    const std::function<std::optional<Dtype>(const std::string&)>& type_of,
    const std::function<bool(const std::string&)>& encoded)
    : group_of_(static_cast<std::size_t>(graph.graph().node_size()), -1) {
  const auto free = [&](int node) {
    return group_of_[static_cast<std::size_t>(node)] < 0 && usable(node);
  };
  const auto match = [&](int head, const SuperGroup& pattern) {
    FoundGroup found{.pattern = &pattern};
    if (!is_one_of(op_of(head), pattern.ops[0]) || !fits_head(pattern, graph.graph().node(head))) {
      return found;
    }
    std::vector<int> nodes{head};
    for (std::size_t stage = 1; stage < pattern.ops.size(); ++stage) {
      const onnx::NodeProto& previous = graph.graph().node(nodes.back());
      const Consumer* reader = single_reader(graph, previous);
      if (reader == nullptr || !free(reader->node) ||
          !fits_stage(graph, pattern, stage, op_of(reader->node), previous, *reader) ||
          (pattern.bias && stage == 1 && encoded(previous.output(0)))) {
        return found;
      }
      nodes.push_back(reader->node);
    }
    if (fused_for(pattern, type_of(graph.graph().node(nodes.back()).output(0)))) {
      found.nodes = std::move(nodes);
    }
    return found;
  };
  for (int head = 0; head < graph.graph().node_size(); ++head) {
    if (!free(head)) {
      continue;
    }
    for (const SuperGroup& pattern : target.super_groups()) {
      FoundGroup found = match(head, pattern);
      if (found.nodes.empty()) {
        continue;
      }
      for (const int node : found.nodes) {
        group_of_[static_cast<std::size_t>(node)] = static_cast<int>(groups_.size());
        if (node != found.nodes.back()) {
          inner_.insert(graph.graph().node(node).output(0));
        }
      }
      groups_.push_back(std::move(found));
      break;
    }
  }
}

const FoundGroup* GraphStructure::group_of(int node) const {
  const int group = group_of_[static_cast<std::size_t>(node)];
  return group < 0 ? nullptr : &groups_[static_cast<std::size_t>(group)];
}

bool moves_data(const GraphIndex& graph, const Model& model, const Target& target,
                const onnx::NodeProto& node) {
  const DataMovementOp* op = is_onnx_domain(node) ? target.data_movement(node.op_type()) : nullptr;
  if (op == nullptr) {
    return false;
  }
  if (!op->attribute.empty()) {
    const onnx::AttributeProto* attribute = find_attribute(node, op->attribute);
    if (!is_one_of(attribute == nullptr ? std::string() : attribute->s(), op->values)) {
      return false;
    }
  }
  return std::all_of(op->zero_inputs.begin(), op->zero_inputs.end(), [&](int slot) {
    if (slot >= node.input_size() || node.input(slot).empty()) {
      return true;
    }
    const onnx::TensorProto* value = graph.constant(node.input(slot));
    if (value == nullptr) {
      return false;
    }
    const std::vector<float> values = model.floats(*value);
    return std::all_of(values.begin(), values.end(), [](float v) { return v == 0.0F; });
  });
}

int constant_bias_slot(const GraphIndex& graph, const onnx::NodeProto& node) {
  for (int slot = 0; node.input_size() == 2 && slot < 2; ++slot) {
    const onnx::TensorProto* value = graph.constant(node.input(slot));
    if (value == nullptr || !is_float_type(value->data_type()) || value->dims_size() == 0) {
      continue;
    }
    const Shape shape = shape_of(*value);
    if (std::all_of(shape.begin(), shape.end() - 1,
                    [](std::int64_t extent) { return extent == 1; })) {
      return slot;
    }
  }
  return -1;
}

}  // namespace halfstep
