#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "halfstep/core/spec.h"

namespace halfstep::python {

namespace nb = nanobind;

// The parts of bind_core, one file each.
void bind_specs(nb::module_& module);
void bind_arrays(nb::module_& module);
void bind_families(nb::module_& module);
void bind_fake_quantize(nb::module_& module);
void bind_observers(nb::module_& module);
void bind_kernels(nb::module_& module);

/// Errors: invalid_argument with the names there are.
[[nodiscard]] Role parse_role(std::string_view name);
[[nodiscard]] Scheme parse_scheme(std::string_view name);
[[nodiscard]] Policy parse_policy(std::string_view name);
[[nodiscard]] Backend parse_backend(std::string_view name);

}  // namespace halfstep::python
