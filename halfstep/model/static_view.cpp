#include "halfstep/model/static_view.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "halfstep/model/model.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/values.h"

namespace halfstep {
namespace {

constexpr std::size_t kLongestChain = 16;

}  // namespace

bool is_view_step(const onnx::NodeProto& node) {
  if (!is_onnx_domain(node) || node.input_size() != 1 || node.output_size() != 1) {
    return false;
  }
  return node.op_type() == "Identity" || node.op_type() == "Transpose" ||
         (node.op_type() == "Cast" &&
          is_float_type(static_cast<int>(int_attribute(node, "to", 0))));
}

std::optional<std::vector<std::int64_t>> transpose_order(const onnx::NodeProto& node,
                                                         std::size_t rank) {
  std::vector<std::int64_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  const onnx::AttributeProto* perm = find_attribute(node, "perm");
  if (perm == nullptr) {
    return order;
  }
  std::vector<std::int64_t> given(perm->ints().begin(), perm->ints().end());
  if (!std::is_permutation(given.begin(), given.end(), order.begin(), order.end())) {
    return std::nullopt;
  }
  return given;
}

std::optional<StaticView> static_view(const GraphIndex& graph, std::string_view tensor) {
  StaticView view{.root = graph.constant(tensor), .root_name = std::string(tensor)};
  while (view.root == nullptr) {
    const int producer = graph.producer(view.root_name);
    if (producer < 0 || view.nodes.size() == kLongestChain ||
        !is_view_step(graph.graph().node(producer))) {
      return std::nullopt;
    }
    view.nodes.push_back(producer);
    view.root_name = graph.graph().node(producer).input(0);
    view.root = graph.constant(view.root_name);
  }
  if (!view.nodes.empty() && !is_float_type(view.root->data_type())) {
    return std::nullopt;
  }
  std::reverse(view.nodes.begin(), view.nodes.end());
  view.axes.resize(static_cast<std::size_t>(view.root->dims_size()));
  std::iota(view.axes.begin(), view.axes.end(), 0);
  for (const int node : view.nodes) {
    const onnx::NodeProto& step = graph.graph().node(node);
    if (step.op_type() != "Transpose") {
      continue;
    }
    const auto order = transpose_order(step, view.axes.size());
    if (!order) {
      return std::nullopt;
    }
    std::vector<std::int64_t> axes;
    for (const std::int64_t axis : *order) {
      axes.push_back(view.axes[static_cast<std::size_t>(axis)]);
    }
    view.axes = std::move(axes);
  }
  return view;
}

const onnx::TensorProto* static_constant(const GraphIndex& graph, std::string_view tensor) {
  if (const onnx::TensorProto* constant = graph.constant(tensor)) {
    return constant;
  }
  const auto view = static_view(graph, tensor);
  return view ? view->root : nullptr;
}

}  // namespace halfstep
