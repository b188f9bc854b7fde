#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/verify_subject.h"

namespace halfstep {

/// Tensors that a device wrote down, in place of a run: a folder with one folder per sample,
/// Result_0, Result_1, ..., as Qualcomm's net-run tools make them; or one with the files of a
/// single sample.
class Dumps {
 public:
  /// Errors: invalid_file if `folder` is missing, no folder, or a Result_N is missing in between.
  explicit Dumps(const std::filesystem::path& folder);
  [[nodiscard]] std::size_t samples() const noexcept { return samples_.size(); }

  /// The file of a tensor: its name in the model or in the graph, as it is or with every character
  /// that is no letter, digit or _ replaced by _; NAME.raw, NAME_native.raw or NAME.npy.
  [[nodiscard]] std::optional<std::filesystem::path> file_of(std::size_t sample,
                                                             const VerifiedTensor& tensor) const;

  /// The values of a tensor in the model's order of axes. A .raw file holds the tensor's own type
  /// or float32, little-endian, in the graph's order; a .npy file float32 or the type of the codes,
  /// in the graph's extents or the model's.
  /// Errors: invalid_file naming file, what was found and what was expected.
  [[nodiscard]] static std::vector<float> read(const std::filesystem::path& file,
                                               const VerifiedTensor& tensor);

 private:
  std::vector<std::filesystem::path> samples_{};
};

}  // namespace halfstep
