#pragma once

#include <string>
#include <utility>
#include <vector>

namespace halfstep::cli {

struct HelpGroup {
  std::string title{};
  std::vector<std::pair<std::string, std::string>>
      entries{};  ///< "-o, --output FILE", what it does
};

struct HelpPage {
  std::string usage{};
  std::string description{};
  std::vector<HelpGroup> groups{};
  std::string footer{};
};

/// The page in 100 columns, descriptions aligned and wrapped.
[[nodiscard]] std::string to_text(const HelpPage& page);

}  // namespace halfstep::cli
