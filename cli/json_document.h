#pragma once

#include <string>
#include <string_view>

#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {

/// The start of every document that --json prints: {"halfstep": version, "schema": 1, "command":
/// ...}.
[[nodiscard]] Json json_document(std::string_view command);
[[nodiscard]] Json to_json(const Diagnostics& diagnostics);
/// Two spaces a level, a line break at the end; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string json_text(const Json& document);

}  // namespace halfstep::cli
