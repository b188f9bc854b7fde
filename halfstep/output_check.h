#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace halfstep {

/// A file that the work reads, and what it is to the user: "the recipe".
struct InputFile {
  std::string what{};
  std::filesystem::path path{};  ///< may be empty, or a name that is no file
};

/// Whether two paths lead to one file: the same place, or links to the same content. Files that do
/// not exist are compared by where they would be.
[[nodiscard]] bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Checks before the work starts that a result can be written to `path` (empty: it is not wanted).
/// `option` is what messages call it. Errors: invalid_argument if it is a directory, no regular
/// file, one of `inputs` under whatever name, or exists and not `force`; io if its directory is
/// missing or can't be written, or the name is too long.
void check_output(const std::string& option, const std::filesystem::path& path,
                  std::span<const InputFile> inputs, bool force);

}  // namespace halfstep
