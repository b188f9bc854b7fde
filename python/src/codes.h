#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "arrays.h"

namespace halfstep::python {

/// An array whose dtype depends on the arguments; stubs show Any.
using AnyArray = nanobind::typed<nanobind::object, nanobind::any>;

/// Does work that touches no Python object without Python's lock.
template <typename Work>
void unlocked(Work work) {
  const nanobind::gil_scoped_release released;
  work();
}

/// NumPy's dtype of an array of codes: float formats are bytes, integers their storage.
[[nodiscard]] std::string code_dtype(Dtype dtype);

/// The codes in `value` as bytes, row-major. `keep` holds what they lie in.
/// Errors: invalid_argument if the array is not of code_dtype.
[[nodiscard]] std::span<const std::byte> codes_of(nanobind::handle value, Dtype dtype,
                                                  Tensor& keep);

/// A row-major array for codes: `out` if it is given, else a new one.
/// Errors: invalid_argument if `out` has another type or shape, is read-only or not row-major.
[[nodiscard]] nanobind::object codes_output(const Shape& shape, Dtype dtype, nanobind::handle out);

/// The memory of a row-major array.
[[nodiscard]] std::span<std::byte> bytes_of(const nanobind::object& array);

}  // namespace halfstep::python
