#include "halfstep/adaptation/lowering.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <variant>

#include "halfstep/adaptation/precision.h"
#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

template <typename T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string attribute_text(const onnx::NodeProto& node, const std::string& name) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  if (attribute == nullptr) {
    return "";
  }
  return attribute->type() == onnx::AttributeProto::INT ? std::to_string(attribute->i())
                                                        : attribute->s();
}

/// alpha = beta = 1
bool has_unit_factors(const onnx::NodeProto& node) {
  const auto is_one = [&node](std::string_view name) {
    const onnx::AttributeProto* attribute = find_attribute(node, name);
    return attribute == nullptr || attribute->f() == 1.0F;
  };
  return is_one("alpha") && is_one("beta");
}

/// And the first matrix as it is.
bool is_plain_gemm(const onnx::NodeProto& node) {
  return has_unit_factors(node) && int_attribute(node, "transA", 0) == 0;
}

/// One filter per input channel.
bool is_depthwise(const GraphIndex& graph, const onnx::NodeProto& node) {
  if (node.input_size() < 2) {
    return false;
  }
  const std::optional<Shape> weight = graph.type(node.input(1)).shape;
  const std::int64_t groups = int_attribute(node, "group", 1);
  return groups > 1 && weight && weight->size() > 1 && (*weight)[0] == groups && (*weight)[1] == 1;
}

bool holds(const GraphIndex& graph, const onnx::NodeProto& node, const Lowering& row,
           const Encoding* weight) {
  const auto rank_of = [&](int slot) -> std::optional<std::size_t> {
    const std::optional<Shape> shape =
        slot < node.input_size() ? graph.type(node.input(slot)).shape : std::optional<Shape>();
    return shape ? std::optional<std::size_t>(shape->size()) : std::nullopt;
  };
  // An unknown rank is taken to be the usual one.
  if (const auto rank = rank_of(0);
      !row.ranks.empty() && rank && !contains(row.ranks, static_cast<int>(*rank))) {
    return false;
  }
  if (row.weight_rank && rank_of(1) != static_cast<std::size_t>(*row.weight_rank)) {
    return false;
  }
  const bool constants =
      std::all_of(row.constant_inputs.begin(), row.constant_inputs.end(), [&](int slot) {
        return slot >= node.input_size() || node.input(slot).empty() ||
               graph.constant(node.input(slot)) != nullptr;
      });
  const bool attributes =
      std::all_of(row.attributes.begin(), row.attributes.end(), [&node](const auto& wanted) {
        return contains(wanted.second, attribute_text(node, wanted.first));
      });
  return constants && attributes && (!row.depthwise || is_depthwise(graph, node)) &&
         (!row.plain_gemm || is_plain_gemm(node)) &&
         (!row.unit_factors || has_unit_factors(node)) &&
         (!row.blocks || (weight != nullptr && in_blocks(*weight)));
}

std::vector<int> operands_of(const onnx::NodeProto& node, const Lowering& row) {
  std::vector<int> slots = row.operands;
  for (int slot = 0; row.operands.empty() && slot < node.input_size(); ++slot) {
    if (!node.input(slot).empty()) {
      slots.push_back(slot);
    }
  }
  return slots;
}

}  // namespace

std::vector<LoweredNode> lower_nodes(
    const GraphIndex& graph, const KernelFacts& facts,
    const std::function<const Encoding*(int node)>& weight_encoding) {
  std::map<std::pair<std::string_view, std::string_view>, std::vector<const Lowering*>> rows;
  for (const Lowering& row : facts.lowering) {
    for (const std::string& op : row.onnx) {
      rows[{row.domain, op}].push_back(&row);
    }
  }
  std::vector<LoweredNode> lowered(static_cast<std::size_t>(graph.graph().node_size()));
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    const onnx::NodeProto& node = graph.graph().node(i);
    const auto found =
        rows.find({is_onnx_domain(node) ? std::string_view() : std::string_view(node.domain()),
                   node.op_type()});
    if (found == rows.end()) {
      continue;
    }
    for (const Lowering* row : found->second) {
      if (holds(graph, node, *row, weight_encoding(i))) {
        lowered[static_cast<std::size_t>(i)] = {.row = row, .operands = operands_of(node, *row)};
        break;
      }
    }
  }
  return lowered;
}

bool is_float_tensor(const GraphIndex& graph, const std::string& tensor) {
  switch (graph.type(tensor).elem_type) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
    case onnx::TensorProto::DOUBLE:
      return true;
    default:
      return false;
  }
}

bool touches_float(const GraphIndex& graph, const onnx::NodeProto& node) {
  if (is_onnx_domain(node) && (node.op_type() == "Shape" || node.op_type() == "Size")) {
    return false;  // they read no values
  }
  const auto is_float = [&graph](const std::string& tensor) {
    return !tensor.empty() && is_float_tensor(graph, tensor);
  };
  return std::any_of(node.input().begin(), node.input().end(), is_float) ||
         std::any_of(node.output().begin(), node.output().end(), is_float);
}

}  // namespace halfstep
