#pragma once

// Tensors whose last units are shorter, for code that knows only units of one size: the tensor is
// brought to whole units by repeating its last values, which changes no range, and cut back.
#include <cstddef>
#include <cstring>
#include <vector>

#include "halfstep/core/quantize.h"

namespace halfstep::internal {

/// The grid of the padded tensor: the same units, all of them whole.
[[nodiscard]] UnitGrid padded(const UnitGrid& grid);
/// Row-major values of `size` bytes each, from one shape to another: the last value along an axis
/// is repeated where `to` is longer, what is beyond `to` is left out.
void resize_values(const std::byte* from, const Shape& from_shape, std::byte* to,
                   const Shape& to_shape, std::size_t size);

template <typename T>
[[nodiscard]] std::vector<T> resized(const std::vector<T>& values, const Shape& from,
                                     const Shape& to) {
  std::vector<T> result(static_cast<std::size_t>(element_count(to)));
  resize_values(reinterpret_cast<const std::byte*>(values.data()), from,
                reinterpret_cast<std::byte*>(result.data()), to, sizeof(T));
  return result;
}

}  // namespace halfstep::internal
