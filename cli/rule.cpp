#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/command_error.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_document.h"
#include "cli/table.h"
#include "halfstep/rules.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {
namespace {

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
