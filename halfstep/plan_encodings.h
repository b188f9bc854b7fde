#pragma once

#include "halfstep/calibration/calibrate.h"
#include "halfstep/plan.h"

namespace halfstep {

/// Fills the plan with numbers: activations from what was measured, weights from their values,
/// copies along data movement, biases from both. Bias: int32, scale = input scale x weight scale
/// (the largest of a channel's blocks; LPBQ: the channel scale). Where a bias would not fit 2^30
/// steps the weight scale of that channel is raised until it does, and said so. `given` is taken
/// over as it is; a bias that does not fit a given weight scale stays float. Source: QAIRT
/// quantization specification; research on per-channel biases that saturate.
[[nodiscard]] EncodingTable make_encodings(const Model& model, const GraphIndex& graph,
                                           const Plan& plan, const EncodingTable& given,
                                           const CalibrationResult& measured, int threads,
                                           Progress& progress, Diagnostics& diagnostics);

}  // namespace halfstep
