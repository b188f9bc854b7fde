#include "cli/help.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "cli/text.h"

namespace halfstep::cli {
namespace {

constexpr std::size_t kWidestEntry = 30;

std::string group_text(const HelpGroup& group, std::size_t column) {
  std::string text = "\n" + group.title + "\n";
  for (const auto& [left, right] : group.entries) {
    text += "  " + left;
    const std::size_t used = 2 + display_width(left);
    text += used + 2 <= column ? std::string(column - used, ' ') : "\n" + std::string(column, ' ');
    text += wrapped(right, column) + "\n";
  }
  return text;
}

}  // namespace

std::string to_text(const HelpPage& page) {
  std::size_t widest = 0;
  for (const HelpGroup& group : page.groups) {
    for (const auto& entry : group.entries) {
      widest = std::max(widest, std::min(display_width(entry.first), kWidestEntry));
    }
  }
  std::string text = wrapped(page.description, 0) + "\n\nusage: " + page.usage + "\n";
  for (const HelpGroup& group : page.groups) {
    text += group_text(group, widest + 4);
  }
  if (!page.footer.empty()) {
    text += "\n" + page.footer + "\n";
  }
  return text;
}

}  // namespace halfstep::cli
