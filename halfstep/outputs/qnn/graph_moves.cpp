// How tensors change their layout, and how a graph ends.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "halfstep/outputs/qnn/graph_builder.h"

namespace halfstep::qnn {

void GraphBuilder::begin(int node) {
  node_ = node;
  named_ = false;
}

void GraphBuilder::add(std::string type, std::vector<std::string> inputs,
                       std::vector<std::string> outputs, std::vector<Param> params,
                       std::string_view suffix) {
  const bool main = suffix.empty() && !named_ && node_ >= 0;
  const std::string base = node_ >= 0 ? keys_.key(node_) : outputs.front();
  Op op{.name =
            main ? base : names_.fresh(base + "_" + (suffix.empty() ? type : std::string(suffix))),
        .type = std::move(type),
        .inputs = std::move(inputs),
        .outputs = std::move(outputs),
        .params = std::move(params)};
  named_ = named_ || main;
  for (Param& param : op.params) {
    if (Tensor* tensor = std::get_if<Tensor>(&param.value)) {
      tensor->name = names_.fresh(op.name + "_" + param.name);
    }
  }
  graph_.ops.push_back(std::move(op));
  group_of_op_.push_back(main ? group_of_node_[static_cast<std::size_t>(node_)] : -1);
}

std::string GraphBuilder::in_layout(const std::string& tensor, const Layout& layout) {
  const Shape& extents = shape(tensor);
  const Shape wanted = stored_shape(extents, layout);
  const std::vector<int> order = memory_order(extents, layout);
  const Form* same_bytes = nullptr;
  for (const Form& form : forms(tensor)) {
    if (memory_order(extents, form.layout) != order) {
      continue;
    }
    if (stored_shape(extents, form.layout) == wanted) {
      return form.name;
    }
    same_bytes = same_bytes == nullptr ? &form : same_bytes;
  }
  const Form from = same_bytes == nullptr ? forms(tensor).front() : *same_bytes;
  return convert(tensor, from, layout);
}

std::string GraphBuilder::reshape(const std::string& from, const std::string& to) {
  add("Reshape", {from}, {to}, {}, "reshape");
  return to;
}

/// Reshape away inserted axes, Transpose, insert others.
std::string GraphBuilder::convert(const std::string& tensor, const Form& from, const Layout& to) {
  const Shape& extents = shape(tensor);
  if (memory_order(extents, from.layout) == memory_order(extents, to)) {
    return reshape(from.name, make(tensor, to));
  }
  Layout before = from.layout, after = to;
  std::erase(before, -1);
  std::erase(after, -1);
  std::string name = from.name;
  if (before.size() != from.layout.size()) {
    name = reshape(name, make(tensor, before));
  }
  std::vector<std::uint32_t> perm;
  for (const int axis : after) {
    perm.push_back(static_cast<std::uint32_t>(stored_axis(before, axis)));
  }
  const std::string moved = make(tensor, after);
  add("Transpose", {name}, {moved}, {list_param("perm", perm)}, "transpose");
  return after.size() == to.size() ? moved : reshape(moved, make(tensor, to));
}

// ---- the end ------------------------------------------------------------------------------------

LoweredGraph GraphBuilder::finish() {
  node_ = -1;
  for (const onnx::ValueInfoProto& output : index_.graph().output()) {
    const std::string& tensor = output.name();
    const auto made = by_name_.find(tensor);
    if (made != by_name_.end() && graph_.tensors[made->second].kind == TensorKind::app_read) {
      continue;
    }
    const Layout identity = identity_layout(shape(tensor).size());
    const std::string there = in_layout(tensor, identity);
    if (there != tensor) {
      reshape(there, make(tensor, identity));  // another tensor's bytes under this name
    }
  }
  remove_unread();
  LoweredGraph result{.places = places(), .groups = group_of_op_};
  result.graph = std::move(graph_);
  result.unpacked.assign(unpacked_.begin(), unpacked_.end());
  return result;
}

/// Operators of which no result is read (in chains, so from the end), then tensors.
void GraphBuilder::remove_unread() {
  std::unordered_set<std::string> read;
  for (const onnx::ValueInfoProto& output : index_.graph().output()) {
    read.insert(output.name());
  }
  std::vector<bool> stays(graph_.ops.size());
  for (std::size_t i = graph_.ops.size(); i-- > 0;) {
    const Op& op = graph_.ops[i];
    stays[i] = std::any_of(op.outputs.begin(), op.outputs.end(),
                           [&read](const std::string& name) { return read.contains(name); });
    if (stays[i]) {
      read.insert(op.inputs.begin(), op.inputs.end());
    }
  }
  std::vector<Op> ops;
  std::vector<int> groups;
  std::unordered_set<std::string> named;
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    if (stays[i]) {
      named.insert(graph_.ops[i].inputs.begin(), graph_.ops[i].inputs.end());
      named.insert(graph_.ops[i].outputs.begin(), graph_.ops[i].outputs.end());
      ops.push_back(std::move(graph_.ops[i]));
      groups.push_back(group_of_op_[i]);
    }
  }
  graph_.ops = std::move(ops);
  group_of_op_ = std::move(groups);
  sort_tensors(named);
}

/// Inputs of the graph, then what operators read and write, in their order.
void GraphBuilder::sort_tensors(const std::unordered_set<std::string>& named) {
  std::vector<Tensor> sorted;
  std::vector<bool> taken(graph_.tensors.size(), false);
  const auto take = [&](std::size_t i) {
    if (!taken[i]) {
      taken[i] = true;
      sorted.push_back(std::move(graph_.tensors[i]));
    }
  };
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    const Tensor& tensor = graph_.tensors[i];
    if (tensor.kind == TensorKind::app_write) {
      take(i);
    } else if (tensor.kind != TensorKind::app_read && !named.contains(tensor.name)) {
      taken[i] = true;
    }
  }
  for (const Op& op : graph_.ops) {
    for (const auto& names : {op.inputs, op.outputs}) {
      for (const std::string& each : names) {
        take(by_name_.at(each));
      }
    }
  }
  graph_.tensors = std::move(sorted);
}

std::map<std::string, TensorPlace> GraphBuilder::places() const {
  std::unordered_set<std::string> there;
  for (const Tensor& tensor : graph_.tensors) {
    there.insert(tensor.name);
  }
  std::map<std::string, TensorPlace> result;
  for (const auto& [tensor, list] : forms_) {
    const Form* best = nullptr;
    for (const Form& form : list) {
      const bool own = form.name == tensor;
      if (there.contains(form.name) && (best == nullptr || own)) {
        best = &form;
      }
    }
    if (best != nullptr) {
      result[tensor] = {.name = best->name, .layout = best->layout};
    }
  }
  return result;
}

}  // namespace halfstep::qnn
