#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/model/op_facts.h"
#include "halfstep/simulation/follow.h"
#include "halfstep/simulation/pools.h"
#include "halfstep/simulation/target_ops.h"

namespace halfstep::simulation {
namespace {

using Extents = std::vector<std::int64_t>;

struct Window {
  Extents extents{};
  Extents strides{};
  bool padded = false;  ///< and what is added does not count
  bool whole = false;   ///< one window, all of an image
};

Extents list(const onnx::NodeProto& op, std::string_view attribute, const Extents& otherwise) {
  const onnx::AttributeProto* found = find_attribute(op, attribute);
  return found == nullptr ? otherwise : Extents(found->ints().begin(), found->ints().end());
}

std::optional<Window> window_of(const Following& following, const onnx::NodeProto& op) {
  const std::optional<Shape> shape = following.index.type(op.input(0)).shape;
  if (!shape || shape->size() < 3) {
    return std::nullopt;
  }
  const Extents spatial(shape->begin() + 2, shape->end());
  if (op.op_type() == "GlobalAveragePool") {
    return Window{.extents = spatial, .strides = spatial, .whole = true};
  }
  Window window{.extents = list(op, "kernel_shape", {}),
                .strides = list(op, "strides", Extents(spatial.size(), 1))};
  const bool pads = std::ranges::any_of(list(op, "pads", {}), [](std::int64_t p) { return p > 0; });
  const onnx::AttributeProto* automatic = find_attribute(op, "auto_pad");
  const bool says_pads = automatic == nullptr || automatic->s() == "NOTSET";
  if (window.extents.size() != spatial.size() || window.strides.size() != spatial.size() ||
      int_attribute(op, "ceil_mode", 0) != 0 || !says_pads ||
      std::ranges::any_of(list(op, "dilations", {}), [](std::int64_t d) { return d > 1; })) {
    return std::nullopt;
  }
  window.padded = pads && int_attribute(op, "count_include_pad", 0) == 0;
  window.whole = !pads && window.extents == spatial;
  return window;
}

bool all(const Extents& extents, std::int64_t wanted) {
  return std::ranges::all_of(extents, [wanted](std::int64_t e) { return e == wanted; });
}

/// Source: measured (windows of 1 to 16, strides 1 to 16). Windows that overlap otherwise stay
/// Q/DQ.
std::optional<PoolWay> way_of(const Window& window) {
  if (window.padded) {
    return PoolWay::moved;
  }
  if (window.whole) {
    return PoolWay::exact;
  }
  if (window.extents == window.strides) {
    return window.extents.size() == 2 && all(window.extents, 2) ? PoolWay::moved : PoolWay::exact;
  }
  const std::int64_t side = window.extents.front();
  const bool square = window.extents.size() == 2 && all(window.extents, side);
  const bool odd = side == 3 || side == 5 || side == 7;
  if (square && odd && all(window.strides, 1)) {
    return PoolWay::matrix;
  }
  if (square && odd && all(window.strides, 2)) {
    return PoolWay::vector;
  }
  return std::nullopt;
}

/// Sides of the pools, one behind the other, that compute a square one of an even side: the odd
/// factor, if there is one, then 2 for each other. The first writes codes of the output.
Extents stages_of(const Window& window) {
  std::int64_t side = window.extents.front();
  if (window.whole || window.padded || window.extents != window.strides ||
      window.extents.size() != 2 || !all(window.extents, side) || side < 4 || side % 2 == 1) {
    return {};
  }
  std::size_t halvings = 0;
  for (; side % 2 == 0; side /= 2) {
    ++halvings;
  }
  Extents stages(halvings, 2);
  if (side > 1) {
    stages.insert(stages.begin(), side);
  }
  return stages;
}

class Pool {
 public:
  Pool(Following& following, int node) : following_(following), node_(node) {}

  void follow() {
    const onnx::NodeProto& op = following_.node(node_);
    const std::optional<Codes> operand = following_.operand(op.input(0));
    const std::optional<Codes> result = following_.clamped_result(op.output(0));
    const std::optional<Window> window = window_of(following_, op);
    if (!operand || !result || !window || !operand->is_activation() ||
        operand->type != result->type) {
      return;
    }
    const std::optional<PoolWay> way = way_of(*window);
    if (!way) {
      return;
    }
    zero_point_ =
        result->zero_points[0] + (result->type == onnx::TensorProto::INT8 ? 128.0F : 0.0F);
    step_ = result->scales[0];
    const std::string name = op.output(0);
    const Extents stages = stages_of(*window);
    if (stages.empty()) {
      const std::string mean = following_.names.fresh(name + "_mean");
      following_.editor.set_output(node_, name, mean);
      insert_average(mean, name, operand->scales[0], *way, count_of(*window));
    } else {
      insert_stages(op, stages, operand->scales[0]);
    }
    ++following_.followed;
  }

 private:
  /// Means of padded windows are not of whole counts.
  static std::int64_t count_of(const Window& window) {
    return window.padded ? 1
                         : std::accumulate(window.extents.begin(), window.extents.end(),
                                           std::int64_t{1}, std::multiplies<>());
  }

  void insert_average(const std::string& from, const std::string& to, float scale, PoolWay way,
                      std::int64_t count) {
    TargetNode average(kAverage, following_.names.fresh(to + "_average"));
    average.input(from).output(to).set(kScale, scale).set(kStep, step_);
    average.set(kCount, static_cast<float>(count)).set(kZeroPoint, zero_point_);
    average.set(kWay, static_cast<std::int64_t>(way));
    following_.editor.insert_before(node_ + 1, average.take());
  }

  void insert_stages(const onnx::NodeProto& op, const Extents& stages, float scale) {
    const std::string& name = op.output(0);
    std::string from = op.input(0);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const std::int64_t side = stages[i];
      const std::string mean = following_.names.fresh(name + "_mean");
      onnx::NodeProto pool = op;
      pool.set_name(following_.names.fresh(name + "_stage"));
      pool.set_input(0, from);
      pool.set_output(0, mean);
      for (onnx::AttributeProto& attribute : *pool.mutable_attribute()) {
        if (attribute.name() == "kernel_shape" || attribute.name() == "strides") {
          std::ranges::fill(*attribute.mutable_ints(), side);
        }
      }
      following_.editor.insert_before(node_ + 1, std::move(pool));
      const bool last = i + 1 == stages.size();
      const std::string to = last ? name : following_.names.fresh(name + "_stage");
      insert_average(mean, to, i == 0 ? scale : step_, side == 2 ? PoolWay::moved : PoolWay::exact,
                     side * side);
      from = to;
    }
    following_.editor.remove_node(node_);
  }

  Following& following_;
  int node_;
  float zero_point_ = 0;
  float step_ = 0;
};

}  // namespace

void follow_pools(Following& following) {
  for (int i = 0; i < following.model.graph().node_size(); ++i) {
    const onnx::NodeProto& node = following.node(i);
    if (is_onnx_domain(node) &&
        (node.op_type() == "AveragePool" || node.op_type() == "GlobalAveragePool")) {
      Pool(following, i).follow();
    }
  }
}

}  // namespace halfstep::simulation
