#pragma once

#include <string_view>

namespace halfstep {

/// The version of the library, the command and the Python package. CMake and pyproject.toml read it
/// here.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace halfstep
