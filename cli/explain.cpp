#include "halfstep/explain.h"

#include <string>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_document.h"
#include "cli/load.h"
#include "cli/table.h"
#include "cli/text.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {
namespace {

std::string explanation_text(const Explanation& explanation) {
  std::string text;
  if (!explanation.name.empty()) {
    text = explanation.name + ": " +
           (explanation.encoding.empty() ? "no integer encoding" : explanation.encoding) +
           " on target " + explanation.target + "\n";
    if (!explanation.given.empty()) {
      text += "  " + wrapped("given by " + explanation.given, 4) + "\n";
    }
  }
  for (const Diagnostic& decision : explanation.decisions) {
    text += "  " + wrapped(decision.message + " [" + decision.rule + "]", 4) + "\n";
  }
  if (explanation.decisions.empty()) {
    text += "  nothing was changed\n";
  }
  if (explanation.name.empty()) {
    Table totals({{.title = "rule"}, {.title = "times", .align = Align::right}});
    for (const auto& [rule, count] : explanation.totals) {
      totals.add({rule, std::to_string(count)});
    }
    text += "\n" + totals.text();
  }
  return text;
}

}  // namespace

int run_explain(const ExplainArguments& arguments, Console& console,
                const Environment& environment) {
  Diagnostics loading;
  const Explanation explanation =
      explain(load_for(arguments.model, {}, environment, loading), arguments.name);
  if (arguments.common.json) {
    Json document = json_document("explain");
    document["explanation"] = to_json(explanation);
    console.out << json_text(document);
  } else {
    console.out << explanation_text(explanation);
  }
  return 0;
}

}  // namespace halfstep::cli
