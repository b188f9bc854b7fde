#pragma once

// Numbers in saved states: exact, and with the values JSON lacks ("inf", "-inf", "nan").
#include <cstdint>
#include <string_view>
#include <vector>

#include "halfstep/core/quantize.h"
#include "halfstep/support/json.h"

namespace halfstep::internal {

[[nodiscard]] Json number_json(double value);
[[nodiscard]] Json numbers_json(const std::vector<float>& values);

/// Errors: invalid_argument naming `key` and what was found.
[[nodiscard]] double read_number(const Json& state, std::string_view key);
[[nodiscard]] std::vector<float> read_numbers(const Json& state, std::string_view key);
[[nodiscard]] std::int64_t read_count(const Json& state, std::string_view key);
[[nodiscard]] const Json& read_member(const Json& state, std::string_view key);

[[nodiscard]] Json ranges_json(const Ranges& ranges);
[[nodiscard]] Ranges read_ranges(const Json& state);

}  // namespace halfstep::internal
