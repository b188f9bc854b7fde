#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "halfstep/calibration/samples.h"
#include "halfstep/core/calculators.h"
#include "halfstep/engines/engine.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/progress.h"

namespace halfstep {

/// A float tensor to observe and how.
struct ObservedTensor {
  std::string name{};
  ResolvedSpec spec;  ///< range_calculator_cls, qparam_calculator_cls, float_range count here
};

/// What a tensor showed over all samples.
struct TensorStatistics {
  Ranges range{};              ///< of the calculator; one entry (per tensor)
  std::int64_t values = 0;     ///< values seen
  std::int64_t nan_count = 0;  ///< NaN that arose inside the network: left out, counted, named
  std::int64_t infinity_count = 0;
};

struct CalibrateOptions {
  int threads = 1;
  /// Called for every observed tensor of the first `hook_samples` samples (tensor, sample, value).
  std::size_t hook_samples = 0;
  std::function<void(std::size_t tensor, std::size_t sample, const WatchedValue& value)> on_value{};
  /// Called with the model's inputs and outputs for the same samples.
  std::function<void(std::size_t sample, const Sample& inputs, const std::vector<Tensor>& outputs)>
      on_outputs{};
};

struct CalibrationResult {
  std::map<std::string, TensorStatistics> statistics{};
  std::size_t samples = 0;
  std::vector<TensorInfo> outputs{};
  bool widened = false;  ///< the engine lacks kernels for the model's types and ran it in float32
};

/// Runs the float model over all samples with observers attached. Memory does not grow with the
/// number of samples; the result does not depend on the thread count. Errors: those of samples and
/// engine; invalid_file if there is no sample; interrupted.
[[nodiscard]] CalibrationResult calibrate(const Model& model, Engine& engine, SampleSource& samples,
                                          std::span<const ObservedTensor> tensors,
                                          const CalibrateOptions& options, Progress& progress,
                                          Diagnostics& diagnostics);

}  // namespace halfstep
