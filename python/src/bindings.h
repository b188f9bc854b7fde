#pragma once

#include <nanobind/nanobind.h>

namespace halfstep::python {

namespace nb = nanobind;

// One function per folder of the library, in the order of their dependencies.
void bind_support(nb::module_& module);
void bind_core(nb::module_& module);
void bind_model(nb::module_& module);
void bind_encodings(nb::module_& module);
void bind_encodings_files(nb::module_& module);
void bind_frontends(nb::module_& module);
void bind_engines(nb::module_& module);
void bind_outputs(nb::module_& module);
void bind_calibration(nb::module_& module);
void bind_pipeline(nb::module_& module);
void bind_verify(nb::module_& module);

}  // namespace halfstep::python
