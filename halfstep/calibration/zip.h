#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/calibration/byte_stream.h"

namespace halfstep {

/// A file inside a zip archive.
struct ZipMember {
  std::string name{};
  std::uint64_t size = 0;  ///< unpacked
  std::uint64_t packed_size = 0;
  std::uint64_t directory_offset = 0;  ///< where the archive's directory describes it
  std::uint64_t number = 0;            ///< position in the directory
};

/// The directory of a zip archive (stored and deflated members, zip64), in its order.
/// Errors: invalid_file (missing, no zip archive, truncated, a damaged directory, an encrypted
/// member).
[[nodiscard]] std::vector<ZipMember> zip_members(const std::filesystem::path& path);

/// Unpacks one member while it is read; checks its checksum at the end.
/// Errors: invalid_file.
[[nodiscard]] std::unique_ptr<ByteStream> open_zip_member(const std::filesystem::path& path,
                                                          const ZipMember& member);

}  // namespace halfstep
