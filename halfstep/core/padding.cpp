#include "halfstep/core/padding.h"

#include <algorithm>

namespace halfstep::internal {
namespace {

/// One of the two tensors: its shape, and the bytes between neighbours along each axis.
struct Layout {
  explicit Layout(const Shape& extents, std::size_t size) : shape(extents) {
    for (const std::int64_t stride : row_major_strides(extents)) {
      steps.push_back(static_cast<std::size_t>(stride) * size);
    }
  }
  Shape shape;
  std::vector<std::size_t> steps{};
};

void copy_axis(const std::byte* from, const Layout& source, std::byte* to, const Layout& target,
               std::size_t axis, std::size_t size) {
  if (axis == source.shape.size()) {  // of rank 0
    std::memcpy(to, from, size);
    return;
  }
  const std::int64_t last = source.shape[axis] - 1;
  if (axis + 1 == source.shape.size()) {
    const std::int64_t same = std::min(last + 1, target.shape[axis]);
    std::memcpy(to, from, static_cast<std::size_t>(same) * size);
    for (std::int64_t i = same; i < target.shape[axis]; ++i) {
      std::memcpy(to + static_cast<std::size_t>(i) * size,
                  from + static_cast<std::size_t>(last) * size, size);
    }
    return;
  }
  for (std::int64_t i = 0; i < target.shape[axis]; ++i) {
    const auto at = static_cast<std::size_t>(std::min(i, last));
    copy_axis(from + at * source.steps[axis], source,
              to + static_cast<std::size_t>(i) * target.steps[axis], target, axis + 1, size);
  }
}

}  // namespace

UnitGrid padded(const UnitGrid& grid) {
  UnitGrid result = grid;
  for (std::size_t axis = 0; axis < grid.shape.size(); ++axis) {
    result.shape[axis] = grid.counts[axis] * grid.sizes[axis];
  }
  return result;
}

void resize_values(const std::byte* from, const Shape& from_shape, std::byte* to,
                   const Shape& to_shape, std::size_t size) {
  if (element_count(from_shape) > 0 && element_count(to_shape) > 0) {
    copy_axis(from, Layout(from_shape, size), to, Layout(to_shape, size), 0, size);
  }
}

}  // namespace halfstep::internal
