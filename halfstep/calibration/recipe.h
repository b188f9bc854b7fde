#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/fixed_ranges.h"
#include "halfstep/core/spec.h"

namespace halfstep {

/// What a rule of a recipe selects by.
enum class MatchKind : std::uint8_t {
  tensor,  ///< tensor:GLOB, a tensor by name
  node,    ///< node:GLOB, a node by name
  op,      ///< op:GLOB, nodes by operator type
  any,     ///< GLOB alone (--exclude): node name, operator type or tensor name
};

/// The wish for what a rule selects: a spec, or float (an empty optional inside).
using SpecOrFloat = std::optional<QuantizationSpec>;

struct RecipeRule {
  MatchKind kind = MatchKind::any;
  std::string glob{};
  std::optional<SpecOrFloat> activation{};  ///< empty: the rule does not speak of activations
  std::optional<SpecOrFloat> weight{};
  std::string origin{};  ///< for messages: "--set 'tensor:m act=uint16'", "rules[2]"
  [[nodiscard]] bool selects_node(std::string_view node_name, std::string_view op_type) const;
  [[nodiscard]] bool selects_tensor(std::string_view tensor) const;
};

/// What is wanted for every tensor of a model; `plan` turns it into decisions.
struct Recipe {
  std::string name{};
  std::string summary{};
  SpecOrFloat activation{};
  SpecOrFloat weight{};
  SpecOrFloat
      weight_fallback{};      ///< where the blocks of `weight` do not divide; empty: an error there
  bool quantize_bias = true;  ///< int32 = input scale x weight scale
  FixedRanges fixed_ranges{};       ///< win over those of the target
  std::vector<RecipeRule> rules{};  ///< later rules win
};

/// A shipped name ("a8w8") or a path of a recipe file in JSON, YAML or TOML (by ending):
///   {"activation": SPEC, "weight": SPEC, "weight_fallback": SPEC, "bias": "int32" | "float",
///    "method": METHOD, "percentile": P, "fixed_ranges": true | {OP: [LOW, HIGH | null]},
///    "rules": [{"match": "tensor:|node:|op:GLOB", "activation" | "weight": SPEC | "float"}]}
/// SPEC has the fields of QuantizationSpec; a spec without "policy" gets `safe`. An axis that is
/// not given is chosen by the operator. Errors: invalid_argument with the shipped names, or with
/// file, place, what was found, what was expected.
[[nodiscard]] Recipe load_recipe(const std::string& name_or_path);
[[nodiscard]] std::vector<std::string> shipped_recipes();
/// A recipe from its JSON form; `where` stands in messages.
[[nodiscard]] Recipe recipe_from_json(const Json& json, const std::string& where);

/// One --set: `tensor:m act=uint16`, `op:Softmax act=float weight=int8`. A dtype replaces that of
/// the recipe's spec (uint: asymmetric stays, a change of kind keeps the scheme). Errors:
/// invalid_argument naming the option, what was found, what was expected.
[[nodiscard]] RecipeRule parse_set(std::string_view option, const Recipe& base);
/// A tensor that shall have `dtype`, whatever the recipe says otherwise; `origin` stands in
/// messages.
[[nodiscard]] RecipeRule dtype_rule(const std::string& tensor, Dtype dtype, const Recipe& base,
                                    std::string origin);
/// How ranges of activations are chosen from the samples: minmax, moving_average, percentile,
/// entropy, mse, sqnr.
[[nodiscard]] std::span<const std::string_view> calibration_methods() noexcept;
/// The method that specs of activations stand for; empty if they name calculators of users, or not
/// all the same.
[[nodiscard]] std::string calibration_method(const Recipe& recipe);
/// Makes all specs of activations use `method`; `percentile` is for method percentile.
/// Errors: invalid_argument for an unknown method (with the closest name), a percentile that does
/// not fit, a recipe that quantizes no activation.
void use_method(Recipe& recipe, std::string_view method,
                const std::optional<double>& percentile = std::nullopt);

/// One --exclude GLOB: what it selects stays float.
[[nodiscard]] RecipeRule exclude_rule(std::string_view glob);

}  // namespace halfstep
