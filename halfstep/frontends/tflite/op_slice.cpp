#include <array>
#include <limits>

#include "halfstep/frontends/tflite/ops.h"

namespace halfstep::tflite {
namespace {

struct Slices {
  Ints starts{}, ends{}, axes{}, steps{};
  void add(std::int64_t start, std::int64_t end, std::int64_t axis, std::int64_t step) {
    starts.push_back(start);
    ends.push_back(end);
    axes.push_back(axis);
    steps.push_back(step);
  }
};

std::string slice_node(Builder& b, const std::string& x, const Slices& s) {
  if (s.axes.empty()) {
    return b.node("Identity", {x}).out();
  }
  return b
      .node("Slice",
            {x, b.constant(s.starts), b.constant(s.ends), b.constant(s.axes), b.constant(s.steps)})
      .out();
}

void slice(Builder& b, const Operator& op) {
  const Ints begin = b.integers(op, 1);
  const Ints size = b.integers(op, 2);
  const Tensor& x = b.input(op, 0);
  const std::size_t rank = x.shape.size();
  if (begin.size() != rank || size.size() != rank) {
    damaged("its begins and sizes do not fit the axes of its input");
  }
  const Layout layout = b.layout(op, 0);
  Slices s;
  for (std::size_t k = 0; k < rank; ++k) {
    const std::int64_t end =
        size[k] < 0 ? std::numeric_limits<std::int32_t>::max() : begin[k] + size[k];
    if (begin[k] != 0 || x.dynamic || end < x.shape[k]) {
      s.add(begin[k], end, axis_in(layout, static_cast<std::int64_t>(k), rank), 1);
    }
  }
  b.finish(op, 0, slice_node(b, b.read(op, 0, layout), s), layout);
}

/// The masks of a STRIDED_SLICE, bit k is entry k.
struct Masks {
  std::uint32_t begin = 0, end = 0, ellipsis = 0, added = 0, shrink = 0;
};

struct StridedSlice {
  Slices slices{};
  Ints dropped{};  ///< axes of the operand
  Ints added{};    ///< axes of the result
};

bool bit(std::uint32_t mask, std::size_t k) { return k < 32 && ((mask >> k) & 1U) != 0; }

StridedSlice strided(const Masks& masks, const Ints& begin, const Ints& end, const Ints& step,
                     const Tensor& x, Layout layout) {
  StridedSlice result;
  const std::size_t rank = x.shape.size();
  std::size_t used = 0;
  for (std::size_t k = 0; k < begin.size(); ++k) {
    used += bit(masks.added, k) || bit(masks.ellipsis, k) ? 0U : 1U;
  }
  std::size_t axis = 0;
  std::int64_t made = 0;
  for (std::size_t k = 0; k < begin.size(); ++k) {
    if (bit(masks.ellipsis, k)) {
      const std::size_t passed = rank > used ? rank - used : 0;
      axis += passed;
      made += static_cast<std::int64_t>(passed);
      continue;
    }
    if (bit(masks.added, k)) {
      result.added.push_back(made++);
      continue;
    }
    if (axis >= rank || step[k] == 0) {
      damaged("its begins and strides do not fit the axes of its input");
    }
    const std::int64_t to = axis_in(layout, static_cast<std::int64_t>(axis), rank);
    constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max();
    if (bit(masks.shrink, k)) {
      result.dropped.push_back(static_cast<std::int64_t>(axis));
      result.slices.add(begin[k], begin[k] == -1 ? kFar : begin[k] + 1, to, 1);
    } else if (!bit(masks.begin, k) || !bit(masks.end, k) || step[k] != 1) {
      const std::int64_t first = step[k] > 0 ? 0 : kFar;
      const std::int64_t last = step[k] > 0 ? kFar : -kFar;
      result.slices.add(bit(masks.begin, k) ? first : begin[k], bit(masks.end, k) ? last : end[k],
                        to, step[k]);
    }
    made += bit(masks.shrink, k) ? 0 : 1;
    ++axis;
  }
  return result;
}

void strided_slice(Builder& b, const Operator& op) {
  const auto mask = [&op](int field) {
    return static_cast<std::uint32_t>(op.options.get<std::int32_t>(field, 0));
  };
  const Masks masks{
      .begin = mask(0), .end = mask(1), .ellipsis = mask(2), .added = mask(3), .shrink = mask(4)};
  const Ints begin = b.integers(op, 1);
  Ints end = b.integers(op, 2);
  const Ints step = b.integers(op, 3);
  if (end.size() != begin.size() || step.size() != begin.size() || begin.size() > 32) {
    damaged("its begins, ends and strides differ in number");
  }
  if (op.options.get<std::uint8_t>(5, 0) != 0) {
    for (std::size_t k = 0; k < end.size(); ++k) {
      end[k] += begin[k];
    }
  }
  const Tensor& x = b.input(op, 0);
  const bool moves = masks.added != 0 || masks.shrink != 0;
  const Layout layout = moves ? Layout::source : b.layout(op, 0);
  const StridedSlice s = strided(masks, begin, end, step, x, layout);
  std::string value = slice_node(b, b.read(op, 0, layout), s.slices);
  if (!s.dropped.empty()) {
    value = b.node("Squeeze", {value, b.constant(s.dropped)}).out();
  }
  if (!s.added.empty()) {
    value = b.node("Unsqueeze", {value, b.constant(s.added)}).out();
  }
  b.finish(op, 0, std::move(value), layout);
}

void reverse_v2(Builder& b, const Operator& op) {
  const std::size_t rank = b.input(op, 0).shape.size();
  const Layout layout = b.layout(op, 0);
  Slices s;
  for (const std::int64_t axis : b.integers(op, 1)) {
    constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max();
    s.add(kFar, -kFar, axis_in(layout, checked_axis(axis, rank), rank), -1);
  }
  b.finish(op, 0, slice_node(b, b.read(op, 0, layout), s), layout);
}

constexpr std::array kRows = {OpRow{.code = 45, .read = strided_slice},
                              OpRow{.code = 65, .read = slice},
                              OpRow{.code = 105, .read = reverse_v2}};

}  // namespace

std::span<const OpRow> slice_ops() { return kRows; }

}  // namespace halfstep::tflite
