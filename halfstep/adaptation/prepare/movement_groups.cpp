#include "halfstep/adaptation/prepare/movement_groups.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "halfstep/adaptation/lowering.h"
#include "halfstep/adaptation/prepare/movement_pattern.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/node_keys.h"
#include "halfstep/model/node_metadata.h"
#include "halfstep/model/qti_ops.h"
#include "halfstep/support/json.h"

namespace halfstep {
namespace {

constexpr std::string_view kRule = "adapt/movement-group";
constexpr std::string_view kCollapsed = "halfstep.collapsed";  // only while a model is adapted

void add_attribute(onnx::NodeProto& node, const std::string& name,
                   const std::vector<std::int64_t>& values, bool list) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(list ? onnx::AttributeProto::INTS : onnx::AttributeProto::INT);
  if (list) {
    attribute.mutable_ints()->Add(values.begin(), values.end());
  } else {
    attribute.set_i(values[0]);
  }
}

/// Does the target compute the operator on tensors of this rank?
bool can_run(const Target& target, const MovementPattern& pattern) {
  const KernelFacts& facts = *target.kernels();
  const auto kernels = facts.ops.find(pattern.op);
  const bool lowered =
      std::any_of(facts.lowering.begin(), facts.lowering.end(), [&pattern](const Lowering& row) {
        return row.domain == kQtiDomain && row.op == pattern.op &&
               std::find(row.onnx.begin(), row.onnx.end(), pattern.op) != row.onnx.end();
      });
  if (kernels == facts.ops.end() || !lowered) {
    return false;
  }
  const auto& ranks = kernels->second.max_rank;
  return ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [&pattern](const auto& entry) {
           return static_cast<std::size_t>(entry.second) >= pattern.rank;
         });
}

bool is_given(const Encoding& encoding) {
  return encoding.origin == Origin::model || encoding.origin == Origin::override_file;
}

bool equal_numbers(const Encoding& a, Encoding b) {
  b.origin = a.origin;
  return a == b;
}

/// Groups of one model before they are collapsed.
class Finder {
 public:
  Finder(const Model& model, const GraphIndex& graph, const EncodingTable& requested,
         const Target& target, Diagnostics& diagnostics)
      : model_(model),
        graph_(graph),
        requested_(requested),
        target_(target),
        diagnostics_(diagnostics),
        keys_(graph.graph()) {
    for (const auto& [use, encoding] : requested.uses()) {
      used_.insert(use.node);
    }
  }

  std::vector<MovementPattern> find_all() {
    std::vector<MovementPattern> patterns;
    std::unordered_set<int> taken;
    for (int node = 0; node < graph_.graph().node_size(); ++node) {
      if (taken.contains(node)) {
        continue;
      }
      std::optional<MovementPattern> pattern = find_movement(model_, graph_, node);
      if (pattern && can_run(target_, *pattern) && fits(*pattern)) {
        taken.insert(pattern->nodes.begin(), pattern->nodes.end());
        patterns.push_back(std::move(*pattern));
      }
    }
    return patterns;
  }

  [[nodiscard]] std::string label(const MovementPattern& pattern) const {
    std::string text;
    for (const int node : pattern.nodes) {
      text += (text.empty() ? "" : " + ") + graph_.label(node);
    }
    return text;
  }

 private:
  [[nodiscard]] const onnx::NodeProto& proto(int node) const { return graph_.graph().node(node); }

  /// Float data, no encodings of single uses, and between the ends none that differs from theirs.
  bool fits(const MovementPattern& pattern) {
    const std::string& input = proto(pattern.nodes.front()).input(0);
    if (!is_float_tensor(graph_, input) ||
        std::any_of(pattern.nodes.begin(), pattern.nodes.end(),
                    [this](int node) { return used_.contains(keys_.key(node)); })) {
      return false;
    }
    const Encoding* start = requested_.find(input);
    const Encoding* end = requested_.find(proto(pattern.nodes.back()).output(0));
    for (std::size_t i = 0; i + 1 < pattern.nodes.size(); ++i) {
      const std::string& tensor = proto(pattern.nodes[i]).output(0);
      const Encoding* own = requested_.find(tensor);
      if (own == nullptr || !is_given(*own) || (start != nullptr && equal_numbers(*own, *start)) ||
          (end != nullptr && equal_numbers(*own, *end))) {
        continue;
      }
      diagnostics_.push_back({.severity = Severity::note,
                              .rule = std::string(kRule),
                              .subject = tensor,
                              .message = label(pattern) + " could run as one " + pattern.op +
                                         ", but tensor '" + tensor +
                                         "' between them has an encoding of its own"});
      return false;
    }
    return true;
  }

  const Model& model_;
  const GraphIndex& graph_;
  const EncodingTable& requested_;
  const Target& target_;
  Diagnostics& diagnostics_;
  NodeKeys keys_;
  std::unordered_set<std::string> used_{};
};

onnx::NodeProto node_of(const MovementPattern& pattern, const GraphIndex& graph) {
  const onnx::NodeProto& last = graph.graph().node(pattern.nodes.back());
  onnx::NodeProto node;
  node.set_op_type(pattern.op);
  node.set_domain(std::string(kQtiDomain));
  node.set_name(last.name());
  node.add_input(graph.graph().node(pattern.nodes.front()).input(0));
  node.add_output(last.output(0));
  if (pattern.op == "ChannelShuffle") {
    add_attribute(node, "axis", {pattern.axis}, false);
    add_attribute(node, "num_groups", {pattern.groups}, false);
    return node;
  }
  add_attribute(node, "block_size", pattern.block_size, true);
  add_attribute(node, pattern.op == "BatchToSpace" ? "crops" : "pad_amount", pattern.margins, true);
  onnx::AttributeProto& layout = *node.add_attribute();
  layout.set_name("layout");
  layout.set_type(onnx::AttributeProto::STRING);
  layout.set_s(pattern.channels_last ? "NHWC" : "NCHW");
  return node;
}

std::string description_of(const onnx::NodeProto& node) {
  Json json = {{"op", node.op_type()}};
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.type() == onnx::AttributeProto::INT) {
      json[attribute.name()] = attribute.i();
    } else if (attribute.type() == onnx::AttributeProto::INTS) {
      json[attribute.name()] =
          std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
    } else {
      json[attribute.name()] = attribute.s();
    }
  }
  return json.dump();
}

bool has_domain(const onnx::ModelProto& model) {
  return std::any_of(model.opset_import().begin(), model.opset_import().end(),
                     [](const auto& entry) { return entry.domain() == kQtiDomain; });
}

}  // namespace

int MovementGroups::collapse(Model& model, const GraphIndex& graph, EncodingTable& requested,
                             const Target& target, Diagnostics& diagnostics) {
  Finder finder(model, graph, requested, target, diagnostics);
  GraphEditor editor(model);
  for (const MovementPattern& pattern : finder.find_all()) {
    onnx::NodeProto node = node_of(pattern, graph);
    Group group{.name = node.name().empty() ? node.output(0) : node.name(),
                .op = description_of(node)};
    for (const int index : pattern.nodes) {
      group.nodes.push_back(graph.graph().node(index));
      editor.remove_node(index);
      if (index != pattern.nodes.back()) {
        inner_.insert(graph.graph().node(index).output(0));
        requested.erase(graph.graph().node(index).output(0));
      }
    }
    const Encoding* end = requested.find(node.output(0));
    if (end != nullptr && !is_given(*end) && requested.find(node.input(0)) != nullptr) {
      requested.erase(node.output(0));
    }
    diagnostics.push_back({.severity = Severity::note,
                           .rule = std::string(kRule),
                           .subject = node.output(0),
                           .message = finder.label(pattern) + " run as one " + node.op_type() +
                                      " that only moves data"});
    set_metadata(node, kCollapsed, std::to_string(groups_.size()));
    groups_.push_back(std::move(group));
    editor.insert_before(pattern.nodes.back(), std::move(node));
  }
  editor.apply();
  if (!groups_.empty() && !has_domain(model.proto())) {
    onnx::OperatorSetIdProto& opset = *model.proto().add_opset_import();
    opset.set_domain(std::string(kQtiDomain));
    opset.set_version(1);
    added_domain_ = true;
  }
  return static_cast<int>(groups_.size());
}

void MovementGroups::expand(Model& model) const {
  if (groups_.empty()) {
    return;
  }
  onnx::GraphProto& graph = model.graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const std::string* mark = find_metadata(node, kCollapsed);
    if (node.domain() != kQtiDomain || mark == nullptr) {
      nodes.Add(std::move(node));
      continue;
    }
    const Group& group = groups_[static_cast<std::size_t>(std::stoul(*mark))];
    for (std::size_t i = 0; i < group.nodes.size(); ++i) {
      onnx::NodeProto& back = *nodes.Add();
      back = group.nodes[i];
      if (i == 0) {
        back.set_input(0, node.input(0));
      }
      if (i + 1 == group.nodes.size()) {
        back.set_output(0, node.output(0));
      }
      set_metadata(back, kGroupKey, group.name);
      set_metadata(back, kGroupOpKey, group.op);
    }
  }
  graph.mutable_node()->Swap(&nodes);
  if (added_domain_) {
    auto& opsets = *model.proto().mutable_opset_import();
    opsets.erase(std::remove_if(opsets.begin(), opsets.end(),
                                [](const auto& entry) { return entry.domain() == kQtiDomain; }),
                 opsets.end());
  }
}

void MovementGroups::reserve_names(NameMaker& names) const {
  for (const Group& group : groups_) {
    for (const onnx::NodeProto& node : group.nodes) {
      (void)names.fresh(node.name());
      (void)names.fresh(node.output(0));
    }
  }
}

}  // namespace halfstep
