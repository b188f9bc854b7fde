#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "halfstep/calibration/samples.h"

namespace halfstep {

/// One sample per file: .npz with arrays by input name, or .npy for a model with one input.
/// Errors: invalid_file, from next() too.
[[nodiscard]] std::unique_ptr<SampleSource> folder_source(std::vector<std::filesystem::path> files,
                                                          std::span<const TensorInfo> inputs,
                                                          const SampleOptions& options);

/// One .npz with all samples: keys `NNN/input`, or keys = inputs with the samples along the first
/// axis. Errors: invalid_file, from next() too.
[[nodiscard]] std::unique_ptr<SampleSource> npz_source(const std::filesystem::path& path,
                                                       std::span<const TensorInfo> inputs,
                                                       const SampleOptions& options);

}  // namespace halfstep
