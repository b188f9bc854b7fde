#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include "halfstep/core/float_view.h"
#include "halfstep/engines/engine.h"

namespace halfstep::python {

// Types that stubs show as NDArray[...], NDArray[...] | None and tuple[int, ...].
template <typename T>
using Array = nanobind::typed<nanobind::object, nanobind::ndarray<nanobind::numpy, T>>;
template <typename T>
using OptionalArray =
    nanobind::typed<nanobind::object, std::optional<nanobind::ndarray<nanobind::numpy, T>>>;
using IntTuple = nanobind::typed<nanobind::tuple, std::int64_t, nanobind::ellipsis>;

/// The array `value` (NumPy, torch, nested lists) as a dense tensor that keeps it alive. Copies
/// only what is not row-major. Errors: invalid_argument naming the type if halfstep has no such
/// number format.
[[nodiscard]] Tensor tensor_of(nanobind::handle value);

/// A NumPy array on the same memory, which it keeps alive.
[[nodiscard]] nanobind::object array_of(const Tensor& tensor);

/// A NumPy array of its own memory.
template <typename T>
[[nodiscard]] Array<T> array_of(const std::vector<T>& values, const Shape& shape);
/// None for no values.
template <typename T>
[[nodiscard]] OptionalArray<T> array_or_none(const std::vector<T>& values, const Shape& shape) {
  if (values.empty()) {
    return OptionalArray<T>(nanobind::none());
  }
  return OptionalArray<T>(array_of(values, shape));
}

[[nodiscard]] IntTuple tuple_of(const Shape& shape);
[[nodiscard]] Shape shape_from(nanobind::handle array);

/// A new array of this shape, of the dtype of this name. Its memory is not set.
[[nodiscard]] nanobind::object empty_array(const Shape& shape, std::string_view dtype);

/// A NumPy array seen as floating-point data. `array` keeps it alive.
struct FloatArray {
  nanobind::object array;
  FloatView view;
};
/// `name` stands in messages. Errors: invalid_argument if its type is not float16, bfloat16,
/// float32 or float64.
[[nodiscard]] FloatArray floats_of(nanobind::handle value, std::string_view name);
/// Where results of the shape and dtype of `like` go: `out` if it is given, else a new array.
/// Errors: invalid_argument if `out` has another shape or dtype or is read-only.
struct FloatOutput {
  nanobind::object array;
  FloatSpan span;
};
[[nodiscard]] FloatOutput output_like(const FloatArray& like, nanobind::handle out);
[[nodiscard]] FloatOutput output_of(const Shape& shape, std::string_view dtype,
                                    nanobind::handle out);

/// A row-major copy of the values.
[[nodiscard]] nanobind::object copy_of(const FloatView& view);

}  // namespace halfstep::python
