#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::cli {

/// Writes all of `text`; false if the system refuses (full disk). A reader that left early is no
/// error.
[[nodiscard]] bool write_standard_output(std::string_view text);

/// Checks before the work starts that a result can be written.
/// Errors: invalid_argument if the file exists and not `force`, is no regular file, or is one of
/// `inputs`; io if its directory is missing or can't be written.
void check_output(const std::string& option, const std::filesystem::path& path,
                  const std::vector<std::filesystem::path>& inputs, bool force);

}  // namespace halfstep::cli
