#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace halfstep {

/// Folders of Python packages (site-packages) that may hold a library this code opens at run time,
/// nearest first: the one this code itself lies in, those of the environments that this code and
/// the program lie in, and those of a .venv in a folder above (a build inside a source tree).
/// Folders need not exist.
[[nodiscard]] std::vector<std::filesystem::path> package_roots();

/// Entries of `folder` whose names start with `prefix`, last name first; none if it can't be read.
[[nodiscard]] std::vector<std::filesystem::path> entries_with_prefix(
    const std::filesystem::path& folder, std::string_view prefix);

/// Folders that hold this code: the shared object it is linked into, and the program.
[[nodiscard]] std::vector<std::filesystem::path> own_folders();

}  // namespace halfstep
