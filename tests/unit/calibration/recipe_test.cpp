#include "halfstep/calibration/recipe.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Recipe, EveryShippedRecipeLoads) {
  EXPECT_THAT(shipped_recipes(),
              ::testing::UnorderedElementsAre("a8w8", "a16w8", "a8w4", "a16w4", "w8", "w4b32",
                                              "mxfp4", "a16w4_lpbq", "a8w4_lpbq"));
  for (const std::string& name : shipped_recipes()) {
    const Recipe recipe = load_recipe(name);
    EXPECT_EQ(recipe.name, name);
    ASSERT_TRUE(recipe.weight.has_value()) << name;
    EXPECT_EQ(recipe.weight->policy, Policy::safe) << name;
  }
}

TEST(Recipe, DefaultNamesItsCalculators) {
  const Recipe recipe = load_recipe("a8w8");
  EXPECT_EQ(recipe.activation->dtype, Dtype::uint8);
  EXPECT_EQ(recipe.activation->qscheme, Scheme::asymmetric);
  EXPECT_EQ(recipe.activation->qparam_calculator_cls, "global_minmax");
  EXPECT_EQ(recipe.weight->dtype, Dtype::int8);
  EXPECT_EQ(recipe.weight->qparam_calculator_cls, "static");
  EXPECT_TRUE(std::holds_alternative<PerChannel>(recipe.weight->granularity));
  EXPECT_TRUE(recipe.quantize_bias);
}

TEST(Recipe, WeightOnlyKeepsActivationsFloat) {
  EXPECT_FALSE(load_recipe("w8").activation.has_value());
  EXPECT_FALSE(load_recipe("w4b32").quantize_bias);
}

TEST(Recipe, UnknownNameSaysTheClosest) {
  EXPECT_THAT(error_of([] { (void)load_recipe("a8w9"); }), HasSubstr("did you mean a8w"));
}

TEST(Recipe, FilesInThreeFormatsMeanTheSame) {
  const TemporaryDirectory folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder.path() / name;
    std::ofstream(path) << text;
    return path.string();
  };
  const Recipe json = load_recipe(write("r.json", R"({
    "activation": "float", "weight": {"dtype": "int4", "granularity": {"type": "per_block", "block_size": 16}},
    "rules": [{"match": "op:Gemm", "weight": "float"}]})"));
  const Recipe yaml =
      load_recipe(write("r.yaml",
                        "activation: float\n"
                        "weight: {dtype: int4, granularity: {type: per_block, block_size: 16}}\n"
                        "rules:\n  - {match: 'op:Gemm', weight: float}\n"));
  const Recipe toml = load_recipe(
      write("r.toml",
            "activation = \"float\"\n"
            "weight = {dtype = \"int4\", granularity = {type = \"per_block\", block_size = 16}}\n"
            "[[rules]]\nmatch = \"op:Gemm\"\nweight = \"float\"\n"));
  for (const Recipe* recipe : {&yaml, &toml}) {
    EXPECT_EQ(recipe->activation, json.activation);
    EXPECT_EQ(recipe->weight, json.weight);
    ASSERT_EQ(recipe->rules.size(), 1U);
    EXPECT_EQ(recipe->rules[0].glob, "Gemm");
  }
}

TEST(Recipe, MistakesNameFileAndPlace) {
  const TemporaryDirectory folder;
  const std::string path = (folder.path() / "bad.json").string();
  std::ofstream(path) << R"({"activations": "float", "weight": "float"})";
  const std::string unknown = error_of([&] { (void)load_recipe(path); });
  EXPECT_THAT(unknown, HasSubstr(path));
  EXPECT_THAT(unknown, HasSubstr("did you mean \"activation\""));

  std::ofstream(path) << R"({"activation": {"dtype": "uint9"}, "weight": "float"})";
  EXPECT_THAT(error_of([&] { (void)load_recipe(path); }), HasSubstr("uint9"));

  std::ofstream(path) << "{\"activation\": \"float\",\n \"weight\": }";
  EXPECT_THAT(error_of([&] { (void)load_recipe(path); }), HasSubstr("line 2"));

  const std::string yaml = (folder.path() / "bad.yaml").string();
  std::ofstream(yaml) << "activation: [\n";
  EXPECT_THAT(error_of([&] { (void)load_recipe(yaml); }), HasSubstr("line"));
}

TEST(Recipe, SetReplacesTheDtype) {
  const Recipe base = load_recipe("a8w8");
  const RecipeRule rule = parse_set("tensor:my tensor act=uint16 weight=float", base);
  EXPECT_EQ(rule.kind, MatchKind::tensor);
  EXPECT_EQ(rule.glob, "my tensor");
  EXPECT_EQ((*rule.activation)->dtype, Dtype::uint16);
  EXPECT_EQ((*rule.activation)->qscheme, Scheme::asymmetric);
  EXPECT_FALSE(rule.weight->has_value());
  EXPECT_THAT(error_of([&] { (void)parse_set("tensor:m act=uint17", base); }),
              HasSubstr("--set 'tensor:m act=uint17'"));
  EXPECT_THAT(error_of([&] { (void)parse_set("m act=uint8", base); }), HasSubstr("tensor:GLOB"));
  EXPECT_THAT(error_of([&] { (void)parse_set("tensor:m", base); }), HasSubstr("act=DTYPE"));
}

TEST(Recipe, ExcludeSelectsNodesOpsAndTensors) {
  const RecipeRule rule = exclude_rule("head/*");
  EXPECT_TRUE(rule.selects_node("head/conv/1", "Conv"));
  EXPECT_TRUE(rule.selects_tensor("head/out"));
  EXPECT_FALSE(rule.selects_node("body", "Conv"));
  EXPECT_TRUE(exclude_rule("Conv").selects_node("x", "Conv"));
}

}  // namespace
}  // namespace halfstep
