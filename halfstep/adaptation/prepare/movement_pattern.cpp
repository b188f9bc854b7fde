#include "halfstep/adaptation/prepare/movement_pattern.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "halfstep/adaptation/prepare/axis_atoms.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"

namespace halfstep {
namespace {

constexpr std::size_t kMostNodes = 8;
constexpr std::size_t kImageRank = 4;

using Axis = AxisAtoms::Axis;
using Numbers = std::vector<std::int64_t>;

Axis joined(const Axis& a, const Axis& b) {
  Axis both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

/// What follows `head` in `whole`, if it begins with it.
std::optional<Axis> behind(const Axis& head, const Axis& whole) {
  if (whole.size() < head.size() || !std::equal(head.begin(), head.end(), whole.begin())) {
    return std::nullopt;
  }
  return Axis(whole.begin() + std::ssize(head), whole.end());
}

// ---- one node as a step of AxisAtoms ----------------------------------------------------------

class Stepper {
 public:
  Stepper(const Model& model, const GraphIndex& graph) : model_(model), graph_(graph) {}

  [[nodiscard]] static bool can_start(const onnx::NodeProto& node) {
    return is_one_of(node, {"Reshape", "Transpose", "Pad", "Unsqueeze", "Flatten"});
  }

  bool step(const onnx::NodeProto& node, AxisAtoms& atoms) const {
    if (!is_onnx_domain(node) || node.output_size() != 1) {
      return false;
    }
    const std::string& op = node.op_type();
    if (op == "Reshape") {
      return reshape(node, atoms);
    }
    if (op == "Flatten" || op == "Squeeze" || op == "Unsqueeze") {
      return regroup(node, atoms);
    }
    if (op == "Transpose") {
      const auto order = transpose_order(node, atoms.rank());
      return order && atoms.transpose(*order);
    }
    if (op == "DepthToSpace") {
      const onnx::AttributeProto* mode = find_attribute(node, "mode");
      return atoms.depth_to_space(int_attribute(node, "blocksize", 0),
                                  mode != nullptr && mode->s() == "CRD");
    }
    if (op == "SpaceToDepth") {
      return atoms.space_to_depth(int_attribute(node, "blocksize", 0));
    }
    return (op == "Slice" && slice(node, atoms)) || (op == "Pad" && pad(node, atoms));
  }

 private:
  static bool is_one_of(const onnx::NodeProto& node, std::initializer_list<std::string_view> ops) {
    return is_onnx_domain(node) && std::find(ops.begin(), ops.end(), node.op_type()) != ops.end();
  }

  /// Integers of an attribute, or of a constant input. Empty: neither is there.
  [[nodiscard]] std::optional<Numbers> numbers(const onnx::NodeProto& node, std::string_view name,
                                               int slot) const {
    if (const onnx::AttributeProto* attribute = find_attribute(node, name)) {
      return Numbers(attribute->ints().begin(), attribute->ints().end());
    }
    const onnx::TensorProto* constant =
        slot < node.input_size() ? graph_.constant(node.input(slot)) : nullptr;
    if (constant == nullptr) {
      return std::nullopt;
    }
    const TensorBytes bytes = model_.data(*constant);
    Numbers values;
    if (constant->data_type() == onnx::TensorProto::INT64) {
      values = copied<std::int64_t>(bytes);
    } else if (constant->data_type() == onnx::TensorProto::INT32) {
      values = copied<std::int32_t>(bytes);
    } else {
      return std::nullopt;
    }
    return values;
  }

  template <typename T>
  static Numbers copied(const TensorBytes& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::copy_n(bytes.span().begin(), values.size() * sizeof(T),
                std::as_writable_bytes(std::span(values)).begin());
    return {values.begin(), values.end()};
  }

  bool reshape(const onnx::NodeProto& node, AxisAtoms& atoms) const {
    if (int_attribute(node, "allowzero", 0) != 0) {
      return regroup(node, atoms);
    }
    const std::optional<Numbers> target = numbers(node, "shape", 1);
    return target ? atoms.reshape(*target) : regroup(node, atoms);
  }

  /// By the shape that inference knows.
  bool regroup(const onnx::NodeProto& node, AxisAtoms& atoms) const {
    const std::optional<Shape> shape = graph_.type(node.output(0)).shape;
    return shape && std::find(shape->begin(), shape->end(), 0) == shape->end() &&
           atoms.reshape(*shape);
  }

  bool slice(const onnx::NodeProto& node, AxisAtoms& atoms) const {
    const std::optional<Numbers> starts = numbers(node, "starts", 1);
    const std::optional<Numbers> ends = numbers(node, "ends", 2);
    std::optional<Numbers> axes = numbers(node, "axes", 3);
    const std::optional<Numbers> steps = numbers(node, "steps", 4);
    const auto given = [&node](int slot) {
      return slot < node.input_size() && !node.input(slot).empty();
    };
    if (!starts || !ends || starts->size() != ends->size() || (!axes && given(3)) ||
        (!steps && given(4)) ||
        (steps && std::any_of(steps->begin(), steps->end(), [](auto s) { return s != 1; }))) {
      return false;
    }
    if (!axes) {
      axes.emplace();
      for (std::size_t i = 0; i < starts->size(); ++i) {
        axes->push_back(static_cast<std::int64_t>(i));
      }
    }
    const std::optional<Shape> shape = graph_.type(node.input(0)).shape;
    if (axes->size() != starts->size() || !shape || shape->size() != atoms.rank()) {
      return false;
    }
    for (std::size_t i = 0; i < axes->size(); ++i) {
      const auto axis = static_cast<std::size_t>(normalized_axis((*axes)[i], atoms.rank()));
      const std::optional<Margins> cut = cut_off((*starts)[i], (*ends)[i], (*shape)[axis]);
      if (!cut || !atoms.crop(axis, *cut)) {
        return false;
      }
    }
    return true;
  }

  /// What a Slice cuts off an axis; `extent` may be unknown.
  static std::optional<Margins> cut_off(std::int64_t start, std::int64_t end, std::int64_t extent) {
    constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int32_t>::max();
    if (extent < 0 && (start < 0 || (end >= 0 && end < kToTheEnd))) {
      return std::nullopt;
    }
    if (start < 0) {
      start += extent;
    }
    const std::int64_t cut = end < 0            ? -end
                             : end >= kToTheEnd ? 0
                                                : std::max<std::int64_t>(0, extent - end);
    return start < 0 ? std::nullopt : std::optional(Margins{.begin = start, .end = cut});
  }

  bool pad(const onnx::NodeProto& node, AxisAtoms& atoms) const {
    const onnx::AttributeProto* mode = find_attribute(node, "mode");
    const std::optional<Numbers> pads = numbers(node, "pads", 1);
    const std::size_t rank = atoms.rank();
    if ((mode != nullptr && mode->s() != "constant") || !pads || !pads_with_zeros(node)) {
      return false;
    }
    Numbers axes;
    if (const std::optional<Numbers> given = numbers(node, "axes", 3)) {
      axes = *given;
    } else if (node.input_size() > 3 && !node.input(3).empty()) {
      return false;
    } else {
      for (std::size_t i = 0; i < rank; ++i) {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    for (std::size_t i = 0; pads->size() == 2 * axes.size() && i < axes.size(); ++i) {
      const auto axis = static_cast<std::size_t>(normalized_axis(axes[i], rank));
      if (!atoms.pad(axis, {.begin = (*pads)[i], .end = (*pads)[i + axes.size()]})) {
        return false;
      }
    }
    return pads->size() == 2 * axes.size();
  }

  [[nodiscard]] bool pads_with_zeros(const onnx::NodeProto& node) const {
    if (const onnx::AttributeProto* value = find_attribute(node, "value")) {
      return value->f() == 0.0F;
    }
    if (node.input_size() < 3 || node.input(2).empty()) {
      return true;
    }
    const onnx::TensorProto* value = graph_.constant(node.input(2));
    if (value == nullptr) {
      return false;
    }
    const std::vector<float> values = model_.floats(*value);
    return std::all_of(values.begin(), values.end(), [](float v) { return v == 0.0F; });
  }

  const Model& model_;
  const GraphIndex& graph_;
};

// ---- the whole way as an operator -------------------------------------------------------------

bool is_cropped(const AxisAtoms& atoms) {
  for (std::size_t axis = 0; axis < atoms.rank(); ++axis) {
    if (atoms.cropping(axis) != Margins{}) {
      return true;
    }
  }
  return false;
}

bool is_padded(const AxisAtoms& atoms) {
  for (std::size_t axis = 0; axis < atoms.input().size(); ++axis) {
    if (atoms.padding(axis) != Margins{}) {
      return true;
    }
  }
  return false;
}

/// The number of groups if one axis became another order of two parts: (a b) -> (b a).
std::optional<std::int64_t> swapped_groups(const AxisAtoms& atoms, const Axis& before,
                                           const Axis& after) {
  for (std::size_t cut = 1; cut < before.size(); ++cut) {
    Axis turned = before;
    std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(cut), turned.end());
    if (turned == after) {
      const std::int64_t groups = atoms.extent(std::span(before).first(cut));
      const std::int64_t all = atoms.extent(before);
      return groups > 1 && all > 0 ? std::optional(groups) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<MovementPattern> as_shuffle(const AxisAtoms& atoms) {
  const std::vector<Axis>& before = atoms.input();
  const std::vector<Axis> after = atoms.now();
  if (before.size() != after.size() || is_cropped(atoms) || is_padded(atoms)) {
    return std::nullopt;
  }
  std::optional<MovementPattern> pattern;
  for (std::size_t axis = 0; axis < before.size(); ++axis) {
    if (before[axis] == after[axis]) {
      continue;
    }
    const std::optional<std::int64_t> groups = swapped_groups(atoms, before[axis], after[axis]);
    if (pattern || !groups) {
      return std::nullopt;
    }
    pattern = {.op = "ChannelShuffle",
               .rank = before.size(),
               .axis = static_cast<std::int64_t>(axis),
               .groups = *groups};
  }
  return pattern;
}

void add_margins(MovementPattern& pattern, Margins margins) {
  pattern.margins.push_back(margins.begin);
  pattern.margins.push_back(margins.end);
}

/// Do blocks of the batch axis of `small` lie at the inner end of the rows and columns of `big`?
std::optional<MovementPattern> as_blocks(const AxisAtoms& atoms, bool to_space,
                                         std::size_t first_spatial) {
  const std::vector<Axis> now = atoms.now();
  const std::vector<Axis>& small = to_space ? atoms.input() : now;
  const std::vector<Axis>& big = to_space ? now : atoms.input();
  const std::size_t rows = first_spatial, columns = first_spatial + 1;
  const std::size_t channels = first_spatial == 1 ? 3 : 1;
  const std::optional<Axis> high = behind(small[rows], big[rows]);
  const std::optional<Axis> wide = behind(small[columns], big[columns]);
  if (!high || !wide || small[channels] != big[channels] ||
      small[0] != joined(joined(*high, *wide), big[0])) {
    return std::nullopt;
  }
  MovementPattern pattern{.op = to_space ? "BatchToSpace" : "SpaceToBatch",
                          .rank = kImageRank,
                          .block_size = {atoms.extent(*high), atoms.extent(*wide)},
                          .channels_last = first_spatial == 1};
  if (pattern.block_size[0] < 1 || pattern.block_size[1] < 1 ||
      pattern.block_size[0] * pattern.block_size[1] < 2) {
    return std::nullopt;
  }
  for (std::size_t axis = 0; axis < kImageRank; ++axis) {
    const bool spatial = axis == rows || axis == columns;
    const Margins margins = to_space ? atoms.cropping(axis) : atoms.padding(axis);
    const Margins others = to_space ? atoms.padding(axis) : atoms.cropping(axis);
    if (others != Margins{} || (!spatial && margins != Margins{})) {
      return std::nullopt;
    }
    if (spatial) {
      add_margins(pattern, margins);
    }
  }
  return pattern;
}

std::optional<MovementPattern> as_operator(const AxisAtoms& atoms) {
  if (std::optional<MovementPattern> shuffle = as_shuffle(atoms)) {
    return shuffle;
  }
  if (atoms.rank() != kImageRank || atoms.input().size() != kImageRank) {
    return std::nullopt;
  }
  for (const bool to_space : {true, false}) {
    for (const std::size_t first_spatial : {std::size_t{1}, std::size_t{2}}) {
      if (std::optional<MovementPattern> blocks = as_blocks(atoms, to_space, first_spatial)) {
        return blocks;
      }
    }
  }
  return std::nullopt;
}

/// The node that alone reads what `node` writes, as its data; -1 if there is none.
int next_node(const GraphIndex& graph, const onnx::NodeProto& node) {
  const auto readers = graph.consumers(node.output(0));
  return readers.size() == 1 && readers[0].slot == 0 && !graph.is_graph_output(node.output(0))
             ? readers[0].node
             : -1;
}

}  // namespace

std::optional<MovementPattern> find_movement(const Model& model, const GraphIndex& graph,
                                             int first) {
  const onnx::NodeProto& head = graph.graph().node(first);
  if (!Stepper::can_start(head) || head.input_size() == 0) {
    return std::nullopt;
  }
  const std::optional<Shape> shape = graph.type(head.input(0)).shape;
  if (!shape || std::find(shape->begin(), shape->end(), 0) != shape->end() ||
      graph.constant(head.input(0)) != nullptr) {
    return std::nullopt;
  }
  const Stepper stepper(model, graph);
  AxisAtoms atoms(*shape);
  std::vector<int> nodes;
  std::optional<MovementPattern> found;
  for (int node = first; node >= 0 && nodes.size() < kMostNodes;
       node = next_node(graph, graph.graph().node(node))) {
    if (!stepper.step(graph.graph().node(node), atoms)) {
      break;
    }
    nodes.push_back(node);
    // The longest way counts: crops may follow. A second shuffle is an operator of its own.
    if (std::optional<MovementPattern> pattern = as_operator(atoms)) {
      found = std::move(pattern);
      found->nodes = nodes;
      if (found->op == "ChannelShuffle") {
        break;
      }
    }
  }
  return found;
}

}  // namespace halfstep
