#pragma once

#include <memory>
#include <span>
#include <vector>

#include <nanobind/nanobind.h>

#include "halfstep/calibration/samples.h"

namespace halfstep::python {

namespace nb = nanobind;

/// A sample from a dict of arrays by input name, or from one array for a model of one input.
/// Errors: invalid_argument naming the input and what was found.
[[nodiscard]] Sample sample_of(nb::handle value, std::span<const TensorInfo> inputs);

/// Calibration data of any form: None (null), a path, or an iterable of samples, taken one by one.
/// What the iterable raises passes through as it was raised.
[[nodiscard]] std::unique_ptr<SampleSource> samples_of(nb::handle value,
                                                       std::vector<TensorInfo> inputs,
                                                       const SampleOptions& options);

}  // namespace halfstep::python
