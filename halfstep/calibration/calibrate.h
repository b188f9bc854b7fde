#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "halfstep/calibration/samples.h"
#include "halfstep/calibration/statistics.h"
#include "halfstep/engines/engine.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/progress.h"

namespace halfstep {

struct CalibrateOptions {
  int threads = 1;
  /// What earlier runs saw of the tensors, to go on from; null: nothing.
  const std::map<std::string, TensorStatistics>* start = nullptr;
  /// Called for every observed tensor of the first `hook_samples` samples (tensor, sample, value).
  std::size_t hook_samples = 0;
  std::function<void(std::size_t tensor, std::size_t sample, const WatchedValue& value)> on_value{};
  /// Called with the model's inputs and outputs for the same samples.
  std::function<void(std::size_t sample, const Sample& inputs, const std::vector<Tensor>& outputs)>
      on_outputs{};
};

struct CalibrationResult {
  std::map<std::string, TensorStatistics> statistics{};
  std::size_t samples = 0;  ///< a batch counts as its samples
  std::vector<TensorInfo> outputs{};
  bool widened = false;  ///< the engine lacks kernels for the model's types and ran it in float32
};

/// Runs the float model over all samples with observers attached.
///
/// Memory does not grow with the number of samples. What is counted does not depend on the number
/// of threads, nor, but for moving_average, on the order of the samples. A batch counts as its
/// single samples: where the first axis of all inputs (of rank 2 and more) and outputs is free, its
/// extent is their number. Only the engine may compute a batch in another order than its samples.
/// Errors: those of samples and engine; invalid_file if there is no sample; interrupted.
[[nodiscard]] CalibrationResult calibrate(const Model& model, Engine& engine, SampleSource& samples,
                                          std::span<const ObservedTensor> tensors,
                                          const CalibrateOptions& options, Progress& progress,
                                          Diagnostics& diagnostics);

}  // namespace halfstep
