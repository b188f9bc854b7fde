#pragma once

#include "halfstep/calibration/samples.h"
#include "halfstep/pipeline.h"

namespace halfstep {

/// Before the work starts, and above all before anything could be replaced that it reads.
/// Errors: invalid_argument naming the option and the file.
void require_free_outputs(const QuantizeRequest& request, const Model& model,
                          const SampleSource* samples);

}  // namespace halfstep
