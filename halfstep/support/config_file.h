#pragma once

#include <filesystem>

#include "halfstep/support/json.h"

namespace halfstep {

/// A configuration file as JSON; the ending says what it is: .yaml / .yml, .toml, anything else JSON.
/// Errors: invalid_argument (configuration is usage) with file, line and column of what is wrong.
[[nodiscard]] Json read_config_file(const std::filesystem::path& path);

}  // namespace halfstep
