#pragma once

#include <string_view>

namespace halfstep::cli {

/// Writes all of `text`; false if the system refuses (full disk). A reader that left early is no
/// error.
[[nodiscard]] bool write_standard_output(std::string_view text);

}  // namespace halfstep::cli
