#include "halfstep/model/graph_editor.h"

#include <algorithm>
#include <unordered_set>

namespace halfstep {
namespace {

constexpr int kOutput = -1;
constexpr int kSubgraphs = -2;

bool defines(const onnx::GraphProto& graph, const std::string& tensor) {
  const auto named = [&](const auto& item) { return item.name() == tensor; };
  return std::any_of(graph.input().begin(), graph.input().end(), named) ||
         std::any_of(graph.initializer().begin(), graph.initializer().end(), named) ||
         std::any_of(graph.node().begin(), graph.node().end(), [&](const onnx::NodeProto& node) {
           return std::find(node.output().begin(), node.output().end(), tensor) !=
                  node.output().end();
         });
}

void rename_reads(onnx::NodeProto& holder, const std::string& from, const std::string& to);

void rename_reads(onnx::GraphProto& graph, const std::string& from, const std::string& to) {
  if (defines(graph, from)) {
    return;  // an inner tensor of the same name hides the outer one
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    std::replace(node.mutable_input()->begin(), node.mutable_input()->end(), from, to);
    rename_reads(node, from, to);
  }
  // An outer tensor may be an output as it is; outputs of subgraphs count by position, not by name.
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    if (output.name() == from) {
      output.set_name(to);
    }
  }
}

void rename_reads(onnx::NodeProto& holder, const std::string& from, const std::string& to) {
  for (onnx::AttributeProto& attribute : *holder.mutable_attribute()) {
    if (attribute.has_g()) {
      rename_reads(*attribute.mutable_g(), from, to);
    }
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) {
      rename_reads(graph, from, to);
    }
  }
}

}  // namespace

void GraphEditor::add_initializer(std::string name, Dtype dtype, const Shape& dims,
                                  std::vector<std::byte> bytes) {
  onnx::TensorProto& tensor = *model_->graph().add_initializer();
  tensor.set_name(std::move(name));
  tensor.set_data_type(info(dtype).onnx);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  model_->set_data(tensor, std::move(bytes));
}

void GraphEditor::add_initializer(std::string name, Dtype dtype, const Shape& dims,
                                  ByteProducer producer) {
  onnx::TensorProto& tensor = *model_->graph().add_initializer();
  tensor.set_name(std::move(name));
  tensor.set_data_type(info(dtype).onnx);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  model_->set_producer(tensor, std::move(producer));
}

void GraphEditor::insert_before(int node, onnx::NodeProto inserted) {
  inserted_.emplace_back(node, std::move(inserted));
}

void GraphEditor::rename_initializer(const std::string& from, std::string to) {
  renamed_initializers_[from] = std::move(to);
}

void GraphEditor::set_input(int node, int slot, std::string tensor) {
  renames_.push_back({.node = node, .slot = slot, .from = {}, .to = std::move(tensor)});
}

void GraphEditor::set_output(int node, const std::string& from, std::string to) {
  renames_.push_back({.node = node, .slot = kOutput, .from = from, .to = std::move(to)});
}

void GraphEditor::rename_in_subgraphs(int node, const std::string& from, std::string to) {
  renames_.push_back({.node = node, .slot = kSubgraphs, .from = from, .to = std::move(to)});
}

void GraphEditor::apply() {
  apply_renames();
  apply_initializers();
  apply_nodes();
}

void GraphEditor::apply_renames() {
  for (const Rename& rename : renames_) {
    onnx::NodeProto& node = *model_->graph().mutable_node(rename.node);
    if (rename.slot == kSubgraphs) {
      rename_reads(node, rename.from, rename.to);
    } else if (rename.slot == kOutput) {
      std::replace(node.mutable_output()->begin(), node.mutable_output()->end(), rename.from,
                   rename.to);
    } else {
      node.set_input(rename.slot, rename.to);
    }
  }
}

void GraphEditor::apply_initializers() {
  auto& initializers = *model_->graph().mutable_initializer();
  for (onnx::TensorProto& tensor : initializers) {
    if (const auto found = renamed_initializers_.find(tensor.name());
        found != renamed_initializers_.end()) {
      tensor.set_name(found->second);
    }
  }
  int kept = 0;
  for (int i = 0; i < initializers.size(); ++i) {
    if (!removed_initializers_.contains(initializers.Get(i).name())) {
      initializers.SwapElements(i, kept++);
    }
  }
  initializers.DeleteSubrange(kept, initializers.size() - kept);
}

void GraphEditor::apply_nodes() {
  std::stable_sort(inserted_.begin(), inserted_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  auto& nodes = *model_->graph().mutable_node();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> result;
  result.Reserve(nodes.size() + static_cast<int>(inserted_.size()));
  auto next = inserted_.begin();
  for (int i = 0; i <= nodes.size(); ++i) {
    for (; next != inserted_.end() && next->first == i; ++next) {
      result.Add()->Swap(&next->second);
    }
    if (i < nodes.size() && !removed_nodes_.contains(i)) {
      result.Add()->Swap(nodes.Mutable(i));
    }
  }
  nodes.Swap(&result);
}

}  // namespace halfstep
