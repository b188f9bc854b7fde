#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/engines/engine.h"

namespace halfstep {

/// Calibration data, one sample after the other; read when asked for, so memory does not grow with
/// their number.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// Number of samples if it is known.
  [[nodiscard]] virtual std::optional<std::size_t> size() const = 0;
  /// The next sample; empty at the end. Errors: invalid_file naming file, input, what was found,
  /// what was expected.
  [[nodiscard]] virtual std::optional<Sample> next() = 0;
  /// Where the last sample came from, for messages: "calib/003.npz".
  [[nodiscard]] virtual std::string where() const = 0;
  /// The files that samples are read from; empty if they come from elsewhere.
  [[nodiscard]] virtual std::vector<std::filesystem::path> files() const { return {}; }
};

struct SampleOptions {
  bool cast_inputs = false;  ///< allow conversion to the input's type
};

/// DATA of the command line (DESIGN 8): a folder of .npz (one sample each, arrays by input name) or
/// .npy (single input), or one .npz: keys `NNN/input` (one sample each), or keys = inputs, where
/// sample i = a[i] if a's rank is the input's + 1, a[i:i+1] if equal. Files in name order. Type,
/// rank, extents and NaN of every sample are checked against `inputs`; extra keys are errors; no
/// sample at all is an error. Errors: invalid_file.
[[nodiscard]] std::unique_ptr<SampleSource> open_samples(const std::filesystem::path& data,
                                                         std::span<const TensorInfo> inputs,
                                                         const SampleOptions& options = {});

/// Checks one sample against the model's inputs; converts types if allowed. `where` stands in
/// messages.
void check_sample(Sample& sample, std::span<const TensorInfo> inputs, const std::string& where,
                  const SampleOptions& options);

/// Graph inputs of a model that a sample must give (initializers that are also inputs are
/// optional).
[[nodiscard]] std::vector<TensorInfo> sample_inputs(const Model& model);

}  // namespace halfstep
