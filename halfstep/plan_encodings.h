#pragma once

#include "halfstep/calibration/calibrate.h"
#include "halfstep/outputs/qdq_stream.h"
#include "halfstep/plan.h"

namespace halfstep {

/// Weights that are measured when they are written, and what messages call them.
struct DeferredWeights {
  WeightStreams streams{};
  std::map<std::string, std::string, std::less<>> labels{};
};

/// Fills the plan with numbers: activations from what was measured, weights from their values,
/// copies along data movement, biases from both. Bias: int32, scale = input scale x weight scale
/// (the largest of a channel's blocks; LPBQ: the channel scale). Where a bias would not fit 2^30
/// steps the weight scale of that channel is raised until it does, and said so. `given` is taken
/// over as it is; a bias that does not fit a given weight scale stays float. Source: QAIRT
/// quantization specification; research on per-channel biases that saturate.
/// `deferred`, if not null, gets the large weights whose encodings depend on nothing else: their
/// values are not read now, and the table has their outline().
[[nodiscard]] EncodingTable make_encodings(const Model& model, const GraphIndex& graph,
                                           const Plan& plan, const EncodingTable& given,
                                           const CalibrationResult& measured, int threads,
                                           DeferredWeights* deferred, Progress& progress,
                                           Diagnostics& diagnostics);

/// Warns of NaN and infinities in weights that were measured meanwhile.
void report_non_finite(const DeferredWeights& deferred, Diagnostics& diagnostics);

}  // namespace halfstep
