#pragma once

#include <string>
#include <vector>

namespace halfstep {

/// A page about a diagnostic: what happened, why, what to do. Its first line is "# ID: TITLE".
struct RulePage {
  std::string id{};
  std::string title{};
  std::string text{};
};

/// All pages that are built in, by id.
[[nodiscard]] std::vector<RulePage> rule_pages();

/// Errors: invalid_argument for an unknown id, with the closest one.
[[nodiscard]] RulePage rule(const std::string& id);

}  // namespace halfstep
