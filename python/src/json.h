#pragma once

#include <nanobind/nanobind.h>

#include "halfstep/support/json.h"

namespace halfstep::python {

/// dict, list, str, int, float, bool and None of the same content.
[[nodiscard]] nanobind::object python_of(const Json& json);
/// The same for an object.
using PlainDict = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;
[[nodiscard]] PlainDict dict_of(const Json& json);

/// The reverse. Tuples count as lists.
/// Errors: invalid_argument naming the Python type that JSON has no form for.
[[nodiscard]] Json json_of(nanobind::handle value);

}  // namespace halfstep::python
