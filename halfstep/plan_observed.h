#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/adaptation/precision.h"
#include "halfstep/calibration/calibrate.h"
#include "halfstep/encodings/encoding_table.h"
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

/// Tensors that have an encoding already: observed for the check of the result only.
[[nodiscard]] std::vector<ObservedTensor> given_activations(const GraphIndex& graph,
                                                            const EncodingTable& given);

/// float32 tensors that `listed` lacks and that no super group hides: they will be float16 where
/// that is the target's default, and their range tells whether float16 can hold them.
[[nodiscard]] std::vector<ObservedTensor> float_activations(
    const GraphIndex& graph, const Plan& plan, const std::vector<ObservedTensor>& listed);

/// Says on which axis the tensors that convolutions and matrix products compute hold channels.
void find_channels(const GraphIndex& graph, std::vector<ObservedTensor>& tensors);

/// Smallest and largest value of what was measured, by tensor.
[[nodiscard]] std::map<std::string, RealRange> measured_ranges(const CalibrationResult& measured);

}  // namespace halfstep
