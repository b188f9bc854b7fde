#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/calibration/npy.h"
#include "halfstep/calibration/zip.h"

namespace halfstep {

/// The arrays of a .npz file by key, read when asked for.
class NpzFile {
 public:
  /// Errors: invalid_file (missing, no archive, damaged, a member that is no .npy, a key that is
  /// there twice).
  explicit NpzFile(std::filesystem::path path);
  /// In the order of the archive.
  [[nodiscard]] const std::vector<std::string>& keys() const noexcept { return keys_; }
  /// The array of keys()[i]. Errors: invalid_file naming file and key.
  [[nodiscard]] NpyArray open(std::size_t i) const;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  std::vector<ZipMember> members_;
  std::vector<std::string> keys_{};
};

}  // namespace halfstep
