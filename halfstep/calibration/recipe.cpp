#include "halfstep/calibration/recipe.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <system_error>
#include <tuple>
#include <utility>

#include "halfstep/core/calculators.h"
#include "halfstep/core/range_search.h"
#include "halfstep/support/config_file.h"
#include "halfstep/support/embedded_data.h"
#include "halfstep/support/error.h"
#include "halfstep/support/glob.h"
#include "halfstep/support/json_reader.h"

namespace halfstep {
namespace {

constexpr std::string_view kFolder = "recipes/";

SpecOrFloat read_spec(const JsonReader& reader, std::string_view key) {
  const Json& value = reader.value(key);
  if (value == "float") {
    return std::nullopt;
  }
  if (!value.is_object()) {
    reader.fail(key, "a spec (an object) or \"float\"");
  }
  try {
    QuantizationSpec spec = spec_from_json(value);
    require(spec.uneven_blocks == UnevenBlocks::by_policy,
            "uneven_blocks is not for recipes; \"weight_fallback\" says what happens to a weight "
            "that blocks do not divide");
    if (!value.contains("policy")) {
      spec.policy = Policy::safe;
    }
    return spec;
  } catch (const Error& error) {
    throw error.within(reader.where() + ": \"" + std::string(key) + "\"");
  }
}

/// Splits "tensor:GLOB" and the like. Errors: invalid_argument naming `where`.
std::pair<MatchKind, std::string> parse_match(const std::string& text, const std::string& where) {
  const std::pair<std::string_view, MatchKind> kinds[] = {
      {"tensor:", MatchKind::tensor}, {"node:", MatchKind::node}, {"op:", MatchKind::op}};
  for (const auto& [prefix, kind] : kinds) {
    if (text.starts_with(prefix) && text.size() > prefix.size()) {
      return {kind, text.substr(prefix.size())};
    }
  }
  throw Error(ErrorKind::invalid_argument,
              where + ": expected tensor:GLOB, node:GLOB or op:GLOB, found \"" + text + "\"");
}

RecipeRule read_rule(const JsonReader& reader) {
  reader.allow_only({"match", "activation", "weight"});
  RecipeRule rule{.origin = reader.where()};
  std::tie(rule.kind, rule.glob) =
      parse_match(reader.text("match"), reader.where() + ": \"match\"");
  if (reader.has("activation")) {
    rule.activation = read_spec(reader, "activation");
  }
  if (reader.has("weight")) {
    rule.weight = read_spec(reader, "weight");
  }
  require(rule.activation || rule.weight,
          reader.where() + ": expected \"activation\" or \"weight\" beside \"match\"");
  return rule;
}

/// The recipe's spec with another dtype. A spec that says float starts from the defaults of its
/// role.
SpecOrFloat with_dtype(const SpecOrFloat& base, std::string_view dtype, Role role) {
  if (dtype == "float" || dtype == "float32") {
    return std::nullopt;
  }
  QuantizationSpec spec = base.value_or(QuantizationSpec{.policy = Policy::safe});
  if (!base && role == Role::activation) {
    spec.qscheme = Scheme::asymmetric;
    spec.qparam_calculator_cls = "global_minmax";
  }
  if (!base && role == Role::weight) {
    spec.granularity = PerChannel{};
    spec.qparam_calculator_cls = "static";
  }
  spec.dtype = parse_dtype(dtype);
  if (is_floating(spec.dtype)) {
    spec.qscheme = Scheme::symmetric;
  }
  return spec;
}

constexpr std::array<std::string_view, 6> kMethods = {
    "minmax", "moving_average", "percentile", "entropy", "mse", "sqnr"};

/// Every spec of activations, in rules too.
template <typename Visit>
void for_each_activation(Recipe& recipe, Visit visit) {
  if (recipe.activation) {
    visit(*recipe.activation);
  }
  for (RecipeRule& rule : recipe.rules) {
    if (rule.activation && *rule.activation) {
      visit(**rule.activation);
    }
  }
}

std::string method_of(const QuantizationSpec& spec) {
  const std::string_view calculator = qparams_calculator_name(spec, Role::activation);
  if (spec.range_calculator_cls == "minmax") {
    return calculator == "global_minmax"    ? "minmax"
           : calculator == "moving_average" ? "moving_average"
                                            : "";
  }
  const bool known =
      std::find(kMethods.begin(), kMethods.end(), spec.range_calculator_cls) != kMethods.end();
  const bool whole = calculator == "global_minmax" || spec.qparam_calculator_cls == "default";
  return known && whole ? spec.range_calculator_cls : "";
}

void read_method(const JsonReader& reader, Recipe& recipe) {
  std::optional<double> percentile;
  if (reader.has("percentile")) {
    const Json& value = reader.value("percentile");
    if (!value.is_number()) {
      reader.fail("percentile", "a number");
    }
    percentile = value.get<double>();
  }
  if (!reader.has("method")) {
    require(!percentile, reader.where() + ": \"percentile\" is for \"method\": \"percentile\"");
    return;
  }
  try {
    use_method(recipe, reader.text("method"), percentile);
  } catch (const Error& error) {
    throw error.within(reader.where());
  }
}

}  // namespace

std::span<const std::string_view> calibration_methods() noexcept { return kMethods; }

std::string calibration_method(const Recipe& recipe) {
  std::string method;
  bool same = true;
  Recipe copy = recipe;
  for_each_activation(copy, [&](const QuantizationSpec& spec) {
    const std::string found = method_of(spec);
    same = same && (method.empty() || method == found);
    method = found;
  });
  return same ? method : "";
}

void use_method(Recipe& recipe, std::string_view method, const std::optional<double>& percentile) {
  const auto known = std::find(kMethods.begin(), kMethods.end(), method);
  if (known == kMethods.end()) {
    const std::vector<std::string> names(kMethods.begin(), kMethods.end());
    const std::string closest = closest_match(std::string(method), names);
    throw Error(ErrorKind::invalid_argument,
                "no calibration method is named \"" + std::string(method) + "\"; " +
                    (closest.empty() ? "take minmax, moving_average, percentile, entropy, mse or "
                                       "sqnr"
                                     : "did you mean \"" + closest + "\"?"));
  }
  require(!percentile || method == "percentile",
          "a percentile is for method percentile, not for " + std::string(method));
  const bool plain = method == "minmax" || method == "moving_average";
  bool any = false;
  for_each_activation(recipe, [&](QuantizationSpec& spec) {
    any = true;
    spec.range_calculator_cls = plain ? "minmax" : std::string(method);
    spec.qparam_calculator_cls = method == "moving_average" ? "moving_average" : "global_minmax";
    spec.extra.erase("percentile");
    if (percentile) {
      spec.extra["percentile"] = *percentile;
    }
    (void)percentile_of(spec);
  });
  require(any, "recipe " + recipe.name +
                   " quantizes no activation, so there is nothing to choose "
                   "by method " +
                   std::string(method));
}

bool RecipeRule::selects_node(std::string_view node_name, std::string_view op_type) const {
  switch (kind) {
    case MatchKind::node:
      return glob_match(glob, node_name);
    case MatchKind::op:
      return glob_match(glob, op_type);
    case MatchKind::any:
      return glob_match(glob, node_name) || glob_match(glob, op_type);
    case MatchKind::tensor:
      break;
  }
  return false;
}

bool RecipeRule::selects_tensor(std::string_view tensor) const {
  return (kind == MatchKind::tensor || kind == MatchKind::any) && glob_match(glob, tensor);
}

std::vector<std::string> shipped_recipes() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.starts_with(kFolder)) {
      names.emplace_back(std::filesystem::path(file.name).stem());
    }
  }
  return names;
}

Recipe recipe_from_json(const Json& json, const std::string& where) {
  const JsonReader reader(json, where);
  reader.allow_only({"summary", "activation", "weight", "weight_fallback", "bias", "method",
                     "percentile", "fixed_ranges", "rules"});
  Recipe recipe{.name = where, .summary = reader.text_or("summary", "")};
  recipe.activation = read_spec(reader, "activation");
  recipe.weight = read_spec(reader, "weight");
  if (reader.has("weight_fallback")) {
    recipe.weight_fallback = read_spec(reader, "weight_fallback");
  }
  const std::string bias = reader.text_or("bias", recipe.activation ? "int32" : "float");
  if (bias != "int32" && bias != "float") {
    reader.fail("bias", "\"int32\" or \"float\"");
  }
  recipe.quantize_bias = bias == "int32";
  if (reader.has("rules")) {
    for (const JsonReader& rule : reader.objects("rules")) {
      recipe.rules.push_back(read_rule(rule));
    }
  }
  recipe.fixed_ranges = read_fixed_ranges(reader, "fixed_ranges");
  read_method(reader, recipe);
  return recipe;
}

Recipe load_recipe(const std::string& name_or_path) {
  const std::vector<std::string> names = shipped_recipes();
  Recipe recipe;
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) {
    const std::string file = std::string(kFolder) + name_or_path + ".json";
    recipe = recipe_from_json(parse_json(embedded_file(file), file), file);
  } else if (std::error_code error; std::filesystem::exists(name_or_path, error)) {
    recipe = recipe_from_json(read_config_file(name_or_path), name_or_path);
  } else {
    std::string list;
    for (const std::string& name : names) {
      list += (list.empty() ? "" : ", ") + name;
    }
    const std::string close = closest_match(name_or_path, names);
    throw Error(
        ErrorKind::invalid_argument,
        "no recipe \"" + name_or_path + "\": neither a file nor one of " + list +
            (close.empty() ? "; `halfstep recipes` lists them" : "; did you mean " + close + "?"));
  }
  recipe.name = name_or_path;
  return recipe;
}

RecipeRule parse_set(std::string_view option, const Recipe& base) {
  const std::string where = "--set '" + std::string(option) + "'";
  const std::size_t end = std::min(option.find(" act="), option.find(" weight="));
  RecipeRule rule{.origin = where};
  std::tie(rule.kind, rule.glob) = parse_match(std::string(option.substr(0, end)), where);
  require(end != std::string_view::npos,
          where + ": expected act=DTYPE or weight=DTYPE after \"" + std::string(option) + "\"");
  std::istringstream words{std::string(option.substr(end))};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    require(equals != std::string::npos && (key == "act" || key == "weight"),
            where + ": expected act=DTYPE or weight=DTYPE, found \"" + word + "\"");
    require(!(key == "act" ? rule.activation : rule.weight),
            where + ": " + key + "= is given twice; keep one");
    try {
      const std::string dtype = word.substr(equals + 1);
      if (key == "act") {
        rule.activation = with_dtype(base.activation, dtype, Role::activation);
      } else {
        rule.weight = with_dtype(base.weight, dtype, Role::weight);
      }
    } catch (const Error& error) {
      throw error.within(where);
    }
  }
  return rule;
}

RecipeRule dtype_rule(const std::string& tensor, Dtype dtype, const Recipe& base,
                      std::string origin) {
  return {.kind = MatchKind::tensor,
          .glob = tensor,
          .activation = with_dtype(base.activation, name(dtype), Role::activation),
          .weight = with_dtype(base.weight, name(dtype), Role::weight),
          .origin = std::move(origin)};
}

RecipeRule exclude_rule(std::string_view glob) {
  return {.kind = MatchKind::any,
          .glob = std::string(glob),
          .activation = SpecOrFloat{},
          .weight = SpecOrFloat{},
          .origin = "--exclude '" + std::string(glob) + "'"};
}

}  // namespace halfstep
