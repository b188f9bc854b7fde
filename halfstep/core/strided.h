#pragma once

// Pieces of a strided tensor, so that none has to be copied as a whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "halfstep/core/float_view.h"

namespace halfstep::internal {

/// Calls `visit(start, stride, count)` for the runs along the last axis that make up the `count`
/// values from the `first` one on, in row-major order of x.
template <typename T, typename Visit>
void visit_runs(const TensorView<T>& x, std::int64_t first, std::int64_t count, Visit visit) {
  const std::size_t rank = x.rank();
  if (rank == 0) {
    visit(x.data(), std::int64_t{1}, count);
    return;
  }
  const std::int64_t length = x.shape()[rank - 1];
  while (count > 0) {
    std::int64_t rest = first / length;
    const std::int64_t at = first % length;
    std::int64_t offset = at * x.strides()[rank - 1];
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      offset += rest % x.shape()[axis] * x.strides()[axis];
      rest /= x.shape()[axis];
    }
    const std::int64_t run = std::min(length - at, count);
    visit(x.data() + offset, x.strides()[rank - 1], run);
    first += run;
    count -= run;
  }
}

/// `count` values from the `first` one on, as float32.
template <typename T>
void gather(const TensorView<const T>& x, std::int64_t first, std::int64_t count, float* values) {
  visit_runs(x, first, count, [&](const T* from, std::int64_t stride, std::int64_t run) {
    for (std::int64_t i = 0; i < run; ++i) {
      values[i] = to_float(from[i * stride]);
    }
    values += run;
  });
}

/// The reverse of `gather`.
template <typename T>
void spread(const float* values, const TensorView<T>& y, std::int64_t first, std::int64_t count) {
  visit_runs(y, first, count, [&](T* to, std::int64_t stride, std::int64_t run) {
    for (std::int64_t i = 0; i < run; ++i) {
      to[i * stride] = from_float<T>(values[i]);
    }
    values += run;
  });
}

/// Where the memory of a view that holds values begins and ends.
struct Extent {
  const void* begin;
  const void* end;
};
template <typename T>
[[nodiscard]] Extent extent_of(const TensorView<T>& x) {
  std::int64_t low = 0, high = 1;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t reach = (x.shape()[axis] - 1) * x.strides()[axis];
    (reach < 0 ? low : high) += reach;
  }
  return {x.data() + low, x.data() + high};
}

/// Whether a value of one view may lie on another value of the other: writing to y piece by piece
/// would then change what is still to be read from x.
template <typename T>
[[nodiscard]] bool entangled(const TensorView<const T>& x, const TensorView<T>& y) {
  if (x.data() == y.data() && x.strides() == y.strides()) {
    return false;
  }
  const Extent a = extent_of(x);
  const Extent b = extent_of(TensorView<const T>(y));
  const std::less<> before;
  return before(a.begin, b.end) && before(b.begin, a.end);
}

}  // namespace halfstep::internal
