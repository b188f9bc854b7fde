#include "halfstep/engines/ort/watch_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "halfstep/model/graph_index.h"

namespace halfstep::ort {
namespace {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Names that nodes read, also inside subgraphs.
void collect_reads(const onnx::GraphProto& graph, std::unordered_set<std::string_view>& reads) {
  for (const onnx::NodeProto& node : graph.node()) {
    reads.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        collect_reads(attribute.g(), reads);
      }
      for (const onnx::GraphProto& inner : attribute.graphs()) {
        collect_reads(inner, reads);
      }
    }
  }
}

/// The number of channels if `node` only turns a blocked tensor into a plain NCHW one.
std::optional<std::int64_t> reordered_channels(const onnx::NodeProto& node) {
  if (node.op_type() != "ReorderOutput" || node.domain() != "com.microsoft.nchwc" ||
      int_attribute(node, "channels_last", 0) != 0) {
    return std::nullopt;
  }
  return int_attribute(node, "channels", 0);
}

onnx::NodeProto watch_node(const std::string& input, const std::string& output, std::size_t point) {
  onnx::NodeProto node;
  node.set_domain(kWatchDomain);
  node.set_op_type(kWatchOp);
  node.add_input(input);
  node.add_output(output);
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("point");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(static_cast<std::int64_t>(point));
  return node;
}

struct Slot {
  int node = 0;
  int output = 0;
};

class Inserter {
 public:
  Inserter(onnx::GraphProto& graph, std::span<const std::string> outputs)
      : graph_(graph), outputs_(outputs.begin(), outputs.end()), names_(graph) {
    for (int n = 0; n < graph.node_size(); ++n) {
      const onnx::NodeProto& node = graph.node(n);
      for (int o = 0; o < node.output_size(); ++o) {
        producers_.emplace(node.output(o), Slot{.node = n, .output = o});
      }
    }
    collect_reads(graph, reads_);
  }

  /// False if no watch op can stand behind the tensor.
  bool watch(std::size_t index, const std::string& tensor) {
    const auto producer = producers_.find(tensor);
    if (producer == producers_.end() || watched_.contains(tensor)) {
      return false;
    }
    const onnx::NodeProto& node = graph_.node(producer->second.node);
    const auto channels = reordered_channels(node);
    if (!channels || reads_.contains(tensor) || outputs_.contains(tensor)) {
      place({.index = index}, tensor, producer->second);
      return true;
    }
    const auto blocked = producers_.find(node.input(0));
    if (blocked == producers_.end() || watched_.contains(node.input(0))) {
      return false;
    }
    dropped_.insert(producer->second.node);
    place({.index = index, .channels = *channels}, node.input(0), blocked->second);
    return true;
  }

  std::vector<WatchPoint> finish() {
    NodeList nodes;
    nodes.Reserve(graph_.node_size() + static_cast<int>(points_.size()));
    for (int n = 0; n < graph_.node_size(); ++n) {
      if (!dropped_.contains(n)) {
        *nodes.Add() = std::move(*graph_.mutable_node(n));
      }
      const auto [first, last] = behind_.equal_range(n);
      for (auto found = first; found != last; ++found) {
        *nodes.Add() = std::move(found->second);
      }
    }
    graph_.mutable_node()->Swap(&nodes);
    return std::move(points_);
  }

 private:
  void place(WatchPoint point, const std::string& tensor, Slot slot) {
    // Copied, as the name may live in the node that is changed here.
    const std::string name = tensor;
    watched_.insert(name);
    const std::string inner = names_.fresh(name + "_unwatched");
    behind_.emplace(slot.node, watch_node(inner, name, points_.size()));
    *graph_.mutable_node(slot.node)->mutable_output(slot.output) = inner;
    points_.push_back(point);
  }

  onnx::GraphProto& graph_;
  std::unordered_set<std::string> outputs_;
  NameMaker names_;
  std::unordered_map<std::string, Slot> producers_{};
  std::unordered_set<std::string_view> reads_{};
  std::unordered_set<std::string> watched_{};
  std::unordered_set<int> dropped_{};
  std::multimap<int, onnx::NodeProto> behind_{};
  std::vector<WatchPoint> points_{};
};

void keep_outputs(onnx::GraphProto& graph, std::span<const std::string> outputs) {
  const std::unordered_set<std::string_view> wanted(outputs.begin(), outputs.end());
  auto& list = *graph.mutable_output();
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&](const onnx::ValueInfoProto& output) {
                              return !wanted.contains(output.name());
                            }),
             list.end());
}

}  // namespace

void add_output(onnx::GraphProto& graph, const std::string& tensor) {
  const auto same = [&](const onnx::ValueInfoProto& output) { return output.name() == tensor; };
  if (std::none_of(graph.output().begin(), graph.output().end(), same)) {
    graph.add_output()->set_name(tensor);
  }
}

WatchPlan insert_watches(onnx::ModelProto& model, std::span<const std::string> watch,
                         std::span<const std::string> outputs, const std::vector<bool>& is_float) {
  onnx::GraphProto& graph = *model.mutable_graph();
  WatchPlan plan;
  Inserter inserter(graph, outputs);
  for (std::size_t i = 0; i < watch.size(); ++i) {
    if (!watch[i].empty() && !(is_float[i] && inserter.watch(i, watch[i]))) {
      plan.as_outputs.push_back(i);
    }
  }
  plan.points = inserter.finish();
  keep_outputs(graph, outputs);
  for (const std::size_t i : plan.as_outputs) {
    add_output(graph, watch[i]);
  }
  if (!plan.points.empty()) {
    onnx::OperatorSetIdProto& opset = *model.add_opset_import();
    opset.set_domain(kWatchDomain);
    opset.set_version(1);
  }
  return plan;
}

}  // namespace halfstep::ort
