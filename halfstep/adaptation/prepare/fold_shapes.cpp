#include "halfstep/adaptation/prepare/fold_shapes.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

/// All extents of a tensor, if all are known.
std::optional<Shape> extents(const GraphIndex& graph, const std::string& tensor) {
  const std::optional<Shape> shape = graph.type(tensor).shape;
  const bool known = shape && std::all_of(shape->begin(), shape->end(),
                                          [](std::int64_t extent) { return extent >= 0; });
  return known ? shape : std::nullopt;
}

/// The part from `start` to before `end`; negative ones count from the back, beyond the ends they
/// are cut off. Source: ONNX operator Shape.
Shape part_of(const Shape& shape, const onnx::NodeProto& node) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto place = [&](const char* attribute, std::int64_t otherwise) {
    const std::int64_t given = int_attribute(node, attribute, otherwise);
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t start = place("start", 0), end = place("end", rank);
  return start < end ? Shape(shape.begin() + start, shape.begin() + end) : Shape{};
}

}  // namespace

int fold_shapes(Model& model, Diagnostics& diagnostics) {
  const GraphIndex graph(model);
  GraphEditor editor(model);
  int folded = 0;
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    const onnx::NodeProto& node = graph.graph().node(i);
    const bool is_shape = is_onnx_domain(node) && node.op_type() == "Shape";
    const bool is_size = is_onnx_domain(node) && node.op_type() == "Size";
    if ((!is_shape && !is_size) || node.input_size() != 1 || node.output_size() != 1 ||
        graph.is_graph_output(node.output(0))) {
      continue;
    }
    const std::optional<Shape> shape = extents(graph, node.input(0));
    if (!shape) {
      continue;
    }
    const Shape values = is_shape ? part_of(*shape, node) : Shape{element_count(*shape)};
    const auto bytes = std::as_bytes(std::span(values));
    editor.add_initializer(node.output(0), Dtype::int64,
                           is_shape ? Shape{static_cast<std::int64_t>(values.size())} : Shape{},
                           {bytes.begin(), bytes.end()});
    editor.remove_node(i);
    diagnostics.push_back({.severity = Severity::note,
                           .rule = "prepare/fold-shape",
                           .subject = node.output(0),
                           .message = graph.label(i) + " is the constant " + to_text(values) +
                                      ": the shape of '" + node.input(0) + "' is known"});
    ++folded;
  }
  editor.apply();
  return folded;
}

}  // namespace halfstep
