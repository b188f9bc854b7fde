#include "halfstep/rules.h"

#include <algorithm>
#include <string_view>

#include "halfstep/support/embedded_data.h"
#include "halfstep/support/error.h"

namespace halfstep {

std::vector<RulePage> rule_pages() {
  constexpr std::string_view kSeparator = ": ";
  std::vector<RulePage> pages;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.starts_with("rules/")) {
      continue;
    }
    const std::string_view heading = file.content.substr(0, file.content.find('\n'));
    const std::size_t end = heading.find(kSeparator);
    if (!heading.starts_with("# ") || end == std::string_view::npos) {
      throw Error(ErrorKind::internal, std::string(file.name) +
                                           ": expected '# ID: TITLE', found '" +
                                           std::string(heading) + "'");
    }
    pages.push_back({.id = std::string(heading.substr(2, end - 2)),
                     .title = std::string(heading.substr(end + kSeparator.size())),
                     .text = std::string(file.content)});
  }
  std::ranges::sort(pages, {}, &RulePage::id);
  return pages;
}

RulePage rule(const std::string& id) {
  std::vector<std::string> ids;
  for (RulePage& page : rule_pages()) {
    if (page.id == id) {
      return std::move(page);
    }
    ids.push_back(page.id);
  }
  const std::string close = closest_match(id, ids);
  throw Error(ErrorKind::invalid_argument,
              "unknown rule '" + id + "'" +
                  (close.empty() ? "; 'halfstep rule' lists the rules"
                                 : "; a similar one exists: '" + close + "'"));
}

}  // namespace halfstep
