#include "halfstep/plan_fixed_ranges.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/operator_names.h"

namespace halfstep {
namespace {

/// A bound of Clip: its input, or before opset 11 an attribute; empty if it is none or no constant.
std::optional<double> clip_bound(const onnx::NodeProto& node, int slot, const char* attribute,
                                 const Model& model, const GraphIndex& graph) {
  std::optional<double> bound;
  for (const onnx::AttributeProto& a : node.attribute()) {
    if (a.name() == attribute) {
      bound = a.f();
    }
  }
  if (slot < node.input_size() && !node.input(slot).empty()) {
    const onnx::TensorProto* tensor = graph.constant(node.input(slot));
    if (tensor == nullptr) {
      return std::nullopt;
    }
    const auto values = model.floats(*tensor);
    bound = values.size() == 1 ? std::optional<double>(values[0]) : std::nullopt;
  }
  const bool open = !bound || !std::isfinite(*bound) || std::abs(*bound) > 1e30;
  return open ? std::nullopt : bound;
}

std::optional<FixedRange> range_for(const onnx::NodeProto& node, const FixedRanges& wanted,
                                    const Model& model, const GraphIndex& graph) {
  if (!is_onnx_domain(node)) {
    return std::nullopt;
  }
  if (const auto found = wanted.ops.find(node.op_type()); found != wanted.ops.end()) {
    return found->second;
  }
  if (node.op_type() == "Clip" && wanted.clip) {
    FixedRange range{.low = clip_bound(node, 1, "min", model, graph),
                     .high = clip_bound(node, 2, "max", model, graph)};
    // An end on the wrong side of 0 tells nothing: the range reaches to 0 there in any case.
    range.low = range.low ? std::optional(std::min(*range.low, 0.0)) : std::nullopt;
    range.high = range.high ? std::optional(std::max(*range.high, 0.0)) : std::nullopt;
    return range;
  }
  return std::nullopt;
}

}  // namespace

void require_operators(const FixedRanges& ranges) {
  for (const auto& [op, range] : ranges.ops) {
    require_onnx_operator(op, "fixed_ranges");
  }
}

void fix_range(QuantizationSpec& spec, const std::string& tensor, const FixedRanges& wanted,
               const Model& model, const GraphIndex& graph) {
  const int producer = graph.producer(tensor);
  if (producer < 0 || wanted.empty() || spec.float_min || spec.float_max) {
    return;
  }
  const auto range = range_for(graph.graph().node(producer), wanted, model, graph);
  if (range && !(range->low == 0.0 && range->high == 0.0)) {
    spec.float_min = range->low;
    spec.float_max = range->high;
  }
}

}  // namespace halfstep
