#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include "halfstep/core/dtype.h"
#include "halfstep/core/half.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {

/// A tensor of any of the floating types that statistics and quantization take.
using FloatView = std::variant<TensorView<const float>, TensorView<const Float16>,
                               TensorView<const BFloat16>, TensorView<const double>>;
/// The same, to write to.
using FloatSpan =
    std::variant<TensorView<float>, TensorView<Float16>, TensorView<BFloat16>, TensorView<double>>;

[[nodiscard]] inline const Shape& shape_of(const FloatView& x) {
  return std::visit([](const auto& view) -> const Shape& { return view.shape(); }, x);
}
[[nodiscard]] inline const Shape& shape_of(const FloatSpan& x) {
  return std::visit([](const auto& view) -> const Shape& { return view.shape(); }, x);
}

template <typename T>
[[nodiscard]] constexpr Dtype dtype_of() noexcept {
  if constexpr (std::same_as<std::remove_const_t<T>, float>) {
    return Dtype::float32;
  } else if constexpr (std::same_as<std::remove_const_t<T>, double>) {
    return Dtype::float64;
  } else if constexpr (std::same_as<std::remove_const_t<T>, Float16>) {
    return Dtype::float16;
  } else {
    static_assert(std::same_as<std::remove_const_t<T>, BFloat16>);
    return Dtype::bfloat16;
  }
}

[[nodiscard]] inline Dtype dtype_of(const FloatView& x) noexcept {
  return std::visit([]<typename T>(const TensorView<T>&) { return dtype_of<T>(); }, x);
}

/// Calls `visit(element offset of a row)` for the rows (runs along the last axis) of a strided view
/// in logical order.
template <typename T, typename Visit>
void for_each_row(const TensorView<T>& x, Visit visit) {
  const std::size_t rank = x.rank();
  if (x.size() == 0) {
    return;
  }
  if (rank == 0) {
    visit(std::int64_t{0}, std::int64_t{1}, std::int64_t{1});
    return;
  }
  Shape index(rank, 0);
  std::int64_t offset = 0;
  for (;;) {
    visit(offset, x.shape()[rank - 1], x.strides()[rank - 1]);
    std::size_t axis = rank - 1;
    for (; axis-- > 0;) {
      offset += x.strides()[axis];
      if (++index[axis] < x.shape()[axis]) {
        break;
      }
      offset -= x.strides()[axis] * x.shape()[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) {
      return;
    }
  }
}

/// Row-major copy of a strided view.
template <typename T>
[[nodiscard]] std::vector<std::remove_const_t<T>> contiguous_copy(const TensorView<T>& x) {
  std::vector<std::remove_const_t<T>> values;
  values.reserve(static_cast<std::size_t>(x.size()));
  for_each_row(x, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(x.data()[offset + i * stride]);
    }
  });
  return values;
}

/// Writes row-major `values` into a strided view.
template <typename T>
void scatter(const std::vector<T>& values, const TensorView<T>& x) {
  std::size_t at = 0;
  for_each_row(x, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
    for (std::int64_t i = 0; i < count; ++i) {
      x.data()[offset + i * stride] = values[at++];
    }
  });
}

}  // namespace halfstep
