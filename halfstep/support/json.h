#pragma once

// The one place that sees the JSON library. Objects keep the order they were written in.
#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

namespace halfstep {

using Json = nlohmann::ordered_json;

/// Parses strict JSON (a UTF-8 byte order mark is accepted).
/// Errors: invalid_file with `name`, line, column and what was found; a repeated key is an error
/// too.
[[nodiscard]] Json parse_json(std::string_view text, std::string_view name);

}  // namespace halfstep
