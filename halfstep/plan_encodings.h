#pragma once

#include "halfstep/calibration/calibrate.h"
#include "halfstep/plan.h"

namespace halfstep {

/// The tensors that calibration must observe for `plan`.
[[nodiscard]] std::vector<ObservedTensor> observed_tensors(const Plan& plan);

/// What a dry run takes for the measured ranges of observed_tensors(): 0 to just below 1, a bit
/// different for each tensor, so that encodings differ where measured ones would. Every output of
/// an operator whose encoding a target fixes can hold them.
[[nodiscard]] CalibrationResult placeholder_ranges(const Plan& plan);

/// Float tensors that a Where chooses from and that nothing else needs observed. A NaN or infinity
/// spreads to an observed tensor and is noticed there, except behind a choice: these are watched so
/// that it is named all the same.
[[nodiscard]] std::vector<std::string> tensors_before_selection(const GraphIndex& graph,
                                                                const Plan& plan);

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
