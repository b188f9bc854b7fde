#include <algorithm>
#include <array>
#include <set>

#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

struct Reduction {
  std::string value{};
  Ints axes{};
  bool keep = false;
  Layout layout = Layout::source;  ///< of the operand
  Layout result = Layout::source;
};

/// Channels may be first if they stay in place, or if what is left is in the order of the file.
Reduction reduction(Builder& b, const Operator& op) {
  const Tensor& x = b.input(op, 0);
  const std::size_t rank = x.shape.size();
  Reduction r{.keep = op.options.get<std::uint8_t>(0, 0) != 0};
  std::set<std::int64_t> axes;
  for (const std::int64_t axis : b.integers(op, 1)) {
    axes.insert(checked_axis(axis, rank));
  }
  if (b.layout(op, 0) == Layout::channels_first) {
    const bool channels = axes.contains(static_cast<std::int64_t>(rank) - 1);
    std::size_t inner = 0;
    for (const std::int64_t axis : axes) {
      inner += axis > 0 && axis + 1 < static_cast<std::int64_t>(rank) ? 1U : 0U;
    }
    if (r.keep || channels || inner + 2 == rank) {
      r.layout = Layout::channels_first;
      r.result = r.keep ? r.layout : Layout::source;
    }
  }
  for (const std::int64_t axis : axes) {
    r.axes.push_back(axis_in(r.layout, axis, rank));
  }
  std::sort(r.axes.begin(), r.axes.end());
  r.value = b.read(op, 0, r.layout);
  return r;
}

std::string reduce_node(Builder& b, const char* type, const std::string& x, const Reduction& r) {
  if (r.axes.empty()) {
    return b.node("Identity", {x}).out();
  }
  return b.node(type, {x, b.constant(r.axes)}).set("keepdims", r.keep ? 1 : 0).out();
}

template <const char* kType>
void reduce(Builder& b, const Operator& op) {
  const Reduction r = reduction(b, op);
  b.finish(op, 0, reduce_node(b, kType, r.value, r), r.result);
}

template <const char* kType>
void reduce_bool(Builder& b, const Operator& op) {
  const Reduction r = reduction(b, op);
  const std::string numbers = b.node("Cast", {r.value}).set("to", onnx_type(Type::int32)).out();
  const std::string reduced = reduce_node(b, kType, numbers, r);
  b.finish(op, 0, b.node("Cast", {reduced}).set("to", onnx_type(Type::boolean)).out(), r.result);
}

template <const char* kType>
void arg(Builder& b, const Operator& op) {
  const Ints axes = b.integers(op, 1);
  const std::size_t rank = b.input(op, 0).shape.size();
  if (axes.size() != 1) {
    damaged("its axis is not one number");
  }
  const std::int64_t axis = checked_axis(axes[0], rank);
  // Without its channels, a value is in the order of the file.
  const bool channels = axis + 1 == static_cast<std::int64_t>(rank);
  const Layout layout = channels ? b.layout(op, 0) : Layout::source;
  const std::string index = b.node(kType, {b.read(op, 0, layout)})
                                .set("axis", axis_in(layout, axis, rank))
                                .set("keepdims", 0)
                                .out();
  const Type type = b.output(op).type;
  b.finish(op, 0,
           type == Type::int64 ? index : b.node("Cast", {index}).set("to", onnx_type(type)).out());
}

void cumsum(Builder& b, const Operator& op) {
  const Ints axes = b.integers(op, 1);
  if (axes.size() != 1) {
    damaged("its axis is not one number");
  }
  const std::int64_t axis = checked_axis(axes[0], b.input(op, 0).shape.size());
  b.finish(op, 0,
           b.node("CumSum", {b.read(op, 0), b.scalar(static_cast<float>(axis), Type::int64)})
               .set("exclusive", op.options.get<std::uint8_t>(0, 0) != 0 ? 1 : 0)
               .set("reverse", op.options.get<std::uint8_t>(1, 0) != 0 ? 1 : 0)
               .out());
}

constexpr char kMean[] = "ReduceMean", kSum[] = "ReduceSum", kProd[] = "ReduceProd",
               kMax[] = "ReduceMax", kMin[] = "ReduceMin", kArgMax[] = "ArgMax",
               kArgMin[] = "ArgMin";

constexpr std::array kRows = {
    OpRow{.code = 40, .read = reduce<kMean>},      OpRow{.code = 56, .read = arg<kArgMax>},
    OpRow{.code = 74, .read = reduce<kSum>},       OpRow{.code = 79, .read = arg<kArgMin>},
    OpRow{.code = 81, .read = reduce<kProd>},      OpRow{.code = 82, .read = reduce<kMax>},
    OpRow{.code = 89, .read = reduce<kMin>},       OpRow{.code = 91, .read = reduce_bool<kMax>},
    OpRow{.code = 140, .read = reduce_bool<kMin>}, OpRow{.code = 128, .read = cumsum}};

}  // namespace

std::span<const OpRow> reduce_ops() { return kRows; }

}  // namespace halfstep::tflite
