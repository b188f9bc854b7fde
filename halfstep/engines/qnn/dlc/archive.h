#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The container of a DLC: a zip archive whose members are stored, not packed.
namespace halfstep::qnn::dlc {

struct Member {
  std::string name{};
  std::span<const std::byte> content{};  ///< a part of the archive
  std::uint64_t offset = 0;              ///< of the content in the archive
};

/// The members of a DLC in memory, in the order of its directory. Checksums are not looked at:
/// Qualcomm's writer leaves them 0. Nothing in the archive is trusted.
/// Errors: invalid_file with the place of what is wrong (no zip archive, truncated, a packed or
/// encrypted member, a member outside the archive, a name twice).
[[nodiscard]] std::vector<Member> read_archive(std::span<const std::byte> archive);

/// The member of that name, or nullptr.
[[nodiscard]] const Member* find_member(const std::vector<Member>& members, std::string_view name);

/// Writes an archive of stored members, in this order, with checksums and without times: the same
/// members are the same bytes. The file appears under its name only when it is complete.
/// Errors: io.
void write_archive(const std::vector<Member>& members, const std::filesystem::path& file);

}  // namespace halfstep::qnn::dlc
