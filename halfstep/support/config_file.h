#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "halfstep/support/json.h"

namespace halfstep {

/// A configuration file as JSON; the ending says what it is: .yaml / .yml, .toml, anything else
/// JSON. Errors: invalid_argument (configuration is usage) with file, line and column of what is
/// wrong.
[[nodiscard]] Json read_config_file(const std::filesystem::path& path);

/// The same for text; `file` says by its ending what the text is, and stands in messages.
[[nodiscard]] Json parse_config(std::string_view text, const std::string& file);

}  // namespace halfstep
