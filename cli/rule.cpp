#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/command_error.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_document.h"
#include "cli/table.h"
#include "halfstep/support/embedded_data.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {
namespace {

/// A page of docs/rules. Its first line is "# <id>: <title>".
struct RulePage {
  std::string id{};
  std::string title{};
  std::string text{};
};

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

const RulePage& find_page(const std::vector<RulePage>& pages, const std::string& id) {
  std::vector<std::string> ids;
  for (const RulePage& page : pages) {
    if (page.id == id) {
      return page;
    }
    ids.push_back(page.id);
  }
  const std::string close = closest_match(id, ids);
  throw UsageError("unknown rule '" + id + "'", close.empty()
                                                    ? "'halfstep rule' lists the rules"
                                                    : "a similar one exists: '" + close + "'");
}

}  // namespace

int run_rule(const RuleArguments& arguments, Console& console) {
  const std::vector<RulePage> pages = rule_pages();
  if (!arguments.id.empty()) {
    const RulePage& page = find_page(pages, arguments.id);
    if (arguments.common.json) {
      Json document = json_document("rule");
      document["rule"] = {{"id", page.id}, {"title", page.title}, {"text", page.text}};
      console.out << json_text(document);
    } else {
      console.out << page.text;
    }
    return 0;
  }
  Json list = Json::array();
  Table table({{.title = "rule"}, {.title = "about"}});
  for (const RulePage& page : pages) {
    list.push_back({{"id", page.id}, {"title", page.title}});
    table.add({page.id, page.title});
  }
  if (arguments.common.json) {
    Json document = json_document("rule");
    document["rules"] = list;
    console.out << json_text(document);
  } else {
    console.out << table.text();
  }
  return 0;
}

}  // namespace halfstep::cli
