#include "halfstep/model/merge_converted.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "halfstep/model/model.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;

bool holds_graph(const AttributeProto& attribute) {
  return attribute.has_g() || attribute.graphs_size() > 0;
}

bool same(const AttributeProto& a, const AttributeProto& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

// Equal but for subgraphs, which are compared node by node, and the order of attributes.
bool same(const NodeProto& a, const NodeProto& b) {
  const auto equal = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  if (a.op_type() != b.op_type() || a.domain() != b.domain() || !equal(a.input(), b.input()) ||
      !equal(a.output(), b.output()) || a.attribute_size() != b.attribute_size()) {
    return false;
  }
  return std::ranges::all_of(a.attribute(), [&b](const AttributeProto& attribute) {
    const AttributeProto* other = find_attribute(b, attribute.name());
    return other != nullptr &&
           (holds_graph(attribute) ? holds_graph(*other) : same(attribute, *other));
  });
}

const std::string* first_output(const NodeProto& node) {
  const auto found =
      std::ranges::find_if(node.output(), [](const auto& name) { return !name.empty(); });
  return found == node.output().end() ? nullptr : &*found;
}

void merge_graphs(AttributeProto& attribute, const AttributeProto& before,
                  const AttributeProto& after, NameMaker& names) {
  if (attribute.has_g()) {
    merge_converted(*attribute.mutable_g(), before.g(), after.g(), names);
  }
  for (int i = 0; i < attribute.graphs_size(); ++i) {
    merge_converted(*attribute.mutable_graphs(i), before.graphs(i), after.graphs(i), names);
  }
}

// The attribute as it was if the converter left it alone, else the converter's.
AttributeProto merge_attribute(const NodeProto& original, const NodeProto& before,
                               const AttributeProto& after, NameMaker& names) {
  const AttributeProto* old = find_attribute(original, after.name());
  const AttributeProto* read = find_attribute(before, after.name());
  if (old == nullptr || read == nullptr) {
    return after;
  }
  if (holds_graph(after)) {
    AttributeProto merged = *old;
    merge_graphs(merged, *read, after, names);
    return merged;
  }
  return same(*read, after) ? *old : after;
}

void refuse_lost_reference(const NodeProto& original, const NodeProto& merged) {
  for (const auto& attribute : original.attribute()) {
    const AttributeProto* kept = find_attribute(merged, attribute.name());
    if (!attribute.ref_attr_name().empty() &&
        (kept == nullptr || kept->ref_attr_name() != attribute.ref_attr_name())) {
      throw Error(
          ErrorKind::unsupported,
          original.op_type() + " '" + original.name() + "': its attribute '" + attribute.name() +
              "' comes from the caller of the function and became an input in the newer opset; "
              "inline the model's functions first");
    }
  }
}

NodeProto merge_node(const NodeProto& original, const NodeProto& before, const NodeProto& after,
                     NameMaker& names) {
  const bool unchanged = same(before, after);
  NodeProto merged = unchanged ? original : after;
  if (unchanged) {
    for (auto& attribute : *merged.mutable_attribute()) {
      if (holds_graph(attribute)) {
        attribute =
            merge_attribute(original, before, *find_attribute(after, attribute.name()), names);
      }
    }
    return merged;
  }
  for (auto& attribute : *merged.mutable_attribute()) {
    attribute = merge_attribute(original, before, attribute, names);
  }
  merged.set_name(original.name());
  *merged.mutable_metadata_props() = original.metadata_props();
  *merged.mutable_device_configurations() = original.device_configurations();
  if (original.has_doc_string()) {
    merged.set_doc_string(original.doc_string());
  }
  refuse_lost_reference(original, merged);
  return merged;
}

using Renames = std::unordered_map<std::string, std::string>;

// Numbers are what the converter calls new tensors; a better name is that of what needs them.
Renames better_names(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                     const std::unordered_set<std::string>& fresh, NameMaker& names) {
  Renames renames;
  for (const auto& node : nodes) {
    const std::string* output = first_output(node);
    for (const auto& input : node.input()) {
      if (output != nullptr && fresh.contains(input) && !renames.contains(input)) {
        renames.emplace(input, names.fresh(*output + "_opset"));
      }
    }
  }
  return renames;
}

void rename(std::string& name, const Renames& renames) {
  if (const auto found = renames.find(name); found != renames.end()) {
    name = found->second;
  }
}

void rename(NodeProto& node, const Renames& renames) {
  for (auto& name : *node.mutable_input()) {
    rename(name, renames);
  }
  for (auto& name : *node.mutable_output()) {
    rename(name, renames);
  }
}

// Adds the initializers that are new to `graph` and their names to `fresh`.
void add_new_initializers(GraphProto& graph, const GraphProto& before, const GraphProto& after,
                          std::unordered_set<std::string>& fresh) {
  std::unordered_set<std::string_view> known;
  for (const auto& tensor : before.initializer()) {
    known.insert(tensor.name());
  }
  for (const auto& tensor : after.initializer()) {
    if (!known.contains(tensor.name())) {
      *graph.add_initializer() = tensor;
      fresh.insert(tensor.name());
    }
  }
}

}  // namespace

void merge_converted(GraphProto& graph, const GraphProto& before, const GraphProto& after,
                     NameMaker& names) {
  if (graph.node_size() != before.node_size()) {
    throw Error(ErrorKind::internal,
                "ONNX's version converter does not keep the nodes of graph '" + graph.name() + "'");
  }
  std::unordered_map<std::string_view, int> node_of;  // by what it writes
  for (int i = 0; i < before.node_size(); ++i) {
    for (const auto& output : before.node(i).output()) {
      if (!output.empty()) {
        node_of.emplace(output, i);
      }
    }
  }
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  std::unordered_set<std::string> fresh;
  for (const auto& node : after.node()) {
    const std::string* output = first_output(node);
    const auto found = output == nullptr ? node_of.end() : node_of.find(*output);
    if (found == node_of.end()) {
      fresh.insert(node.output().begin(), node.output().end());
      *nodes.Add() = node;
    } else {
      *nodes.Add() = merge_node(graph.node(found->second), before.node(found->second), node, names);
    }
  }
  const int first_new = graph.initializer_size();
  add_new_initializers(graph, before, after, fresh);
  const Renames renames = better_names(nodes, fresh, names);
  for (int i = first_new; i < graph.initializer_size(); ++i) {
    rename(*graph.mutable_initializer(i)->mutable_name(), renames);
  }
  for (auto& node : nodes) {
    const bool is_new = node.output_size() > 0 && fresh.contains(node.output(0));
    rename(node, renames);
    if (is_new) {  // the converter gives it the name of the node it came from
      node.set_name(names.fresh(node.output(0) + "_node"));
    }
  }
  graph.mutable_node()->Swap(&nodes);
}

}  // namespace halfstep
