#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/arguments.h"
#include "cli/command_error.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_document.h"
#include "cli/table.h"
#include "halfstep/calibration/recipe.h"
#include "halfstep/core/dtype.h"
#include "halfstep/core/spec.h"
#include "halfstep/support/embedded_data.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {
namespace {

std::string granularity_text(const Granularity& granularity) {
  if (std::holds_alternative<PerChannel>(granularity)) {
    return " per channel";
  }
  if (const auto* block = std::get_if<PerBlock>(&granularity)) {
    return " block " + to_text(block->block_size);
  }
  if (const auto* lpbq = std::get_if<Lpbq>(&granularity)) {
    return " LPBQ block " + std::to_string(lpbq->block_size);
  }
  return "";
}

std::string spec_text(const SpecOrFloat& spec) {
  return spec ? std::string(name(spec->dtype)) + granularity_text(spec->granularity) : "float";
}

void print_list(const RecipesArguments& arguments, Console& console) {
  Table table(
      {{.title = "recipe"}, {.title = "activations"}, {.title = "weights"}, {.title = "summary"}});
  Json list = Json::array();
  for (const std::string& name : shipped_recipes()) {
    const Recipe recipe = load_recipe(name);
    table.add({name, spec_text(recipe.activation), spec_text(recipe.weight), recipe.summary});
    list.push_back({{"name", name}, {"summary", recipe.summary}});
  }
  if (arguments.common.json) {
    Json document = json_document("recipes");
    document["recipes"] = list;
    console.out << json_text(document);
  } else {
    console.out << table.text();
  }
}

}  // namespace

int run_recipes(const RecipesArguments& arguments, Console& console) {
  if (arguments.name.empty()) {
    print_list(arguments, console);
    return 0;
  }
  const std::vector<std::string> names = shipped_recipes();
  if (std::ranges::count(names, arguments.name) == 0) {
    const std::string close = closest_match(arguments.name, names);
    throw UsageError("unknown recipe '" + arguments.name + "'",
                     close.empty() ? "'halfstep recipes' lists the shipped ones"
                                   : "a similar one exists: '" + close + "'");
  }
  const std::string file = "recipes/" + arguments.name + ".json";
  const std::string_view content = embedded_file(file);
  if (arguments.common.json) {
    Json document = json_document("recipes");
    document["recipe"] = parse_json(content, file);
    console.out << json_text(document);
  } else {
    console.out << content;  // as it is: the start of a recipe file of one's own
  }
  return 0;
}

}  // namespace halfstep::cli
