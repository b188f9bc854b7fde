#pragma once

#include <nanobind/nanobind.h>

#include "halfstep/engines/engine.h"

namespace halfstep::python {

/// The array `value` (NumPy, torch, nested lists) as a dense tensor that keeps it alive. Copies
/// only what is not row-major. Errors: invalid_argument naming the type if halfstep has no such
/// number format.
[[nodiscard]] Tensor tensor_of(nanobind::handle value);

/// A NumPy array on the same memory, which it keeps alive.
[[nodiscard]] nanobind::object array_of(const Tensor& tensor);

/// A NumPy array of its own memory.
template <typename T>
[[nodiscard]] nanobind::object array_of(const std::vector<T>& values, const Shape& shape);

[[nodiscard]] nanobind::tuple tuple_of(const Shape& shape);

}  // namespace halfstep::python
