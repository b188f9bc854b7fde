#include "halfstep/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class PlanTest : public ::testing::Test {
 protected:
  Plan plan(const std::string& text, Recipe recipe = load_recipe("a8w8")) {
    model_.emplace(model_from_text(text));
    graph_.emplace(*model_);
    return make_plan(*model_, *graph_, recipe, Target::load("cpu"), diagnostics_);
  }
  static Recipe with_set(std::initializer_list<std::string> options) {
    Recipe recipe = load_recipe("a8w8");
    for (const std::string& option : options) {
      recipe.rules.push_back(parse_set(option, recipe));
    }
    return recipe;
  }
  static std::vector<std::string> activations(const Plan& plan) {
    std::vector<std::string> names;
    for (const PlannedActivation& activation : plan.activations) {
      names.push_back(activation.tensor);
    }
    return names;
  }

  std::optional<Model> model_;
  std::optional<GraphIndex> graph_;
  Diagnostics diagnostics_;
};

TEST_F(PlanTest, GroupsHaveNoInnerEncoding) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,4,4] x) => (float[1,1,4,4] y)
    <float[1,1,1,1] w1 = {2}, float[1] b1 = {1}, float[1,1,1,1] w2 = {3}> {
      a = Conv (x, w1, b1)
      r = Relu (a)
      c = Conv (r, w2)
      y = Add (c, r)
    })");
  EXPECT_THAT(activations(result), UnorderedElementsAre("x", "r", "c", "y"));
  ASSERT_EQ(result.weights.size(), 2U);
  EXPECT_EQ(std::get<PerChannel>(result.weights[0].spec->granularity).axis, 0);
  ASSERT_EQ(result.biases.size(), 1U);
  EXPECT_EQ(result.biases[0].tensor, "b1");
  EXPECT_EQ(result.biases[0].input, "x");
}

TEST_F(PlanTest, ElementwiseOpsBesideFloatOpsStayFloat) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,4] x) => (float[1,4] y)
    <float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> {
      a = MatMul (x, w)
      e = Erf (a)
      m = Mul (a, e)
      y = MatMul (m, w)
    })");
  // `a` is read by float ops only: the kernel writes float. `m` is needed by the second MatMul.
  EXPECT_THAT(activations(result), UnorderedElementsAre("x", "m", "y"));
  EXPECT_THAT(result.nodes[1].float_reason, HasSubstr("Erf"));
  EXPECT_THAT(result.nodes[2].float_reason, HasSubstr("float op"));
  ASSERT_EQ(result.weights.size(), 1U);  // tied: one encoding for both uses
  EXPECT_EQ(result.weights[0].uses.size(), 2U);
}

TEST_F(PlanTest, DataMovementCarriesItsProducersEncoding) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}> {
      a = Conv (x, w)
      t = Transpose <perm: ints = [0,1,3,2]> (a)
      p = MaxPool <kernel_shape: ints = [1,1]> (t)
      y = Conv (p, w)
    })");
  ASSERT_THAT(activations(result), ElementsAre("x", "a", "t", "p", "y"));
  EXPECT_EQ(result.activations[2].source, "a");
  EXPECT_EQ(result.activations[3].source, "a");
  EXPECT_TRUE(result.activations[4].source.empty());
}

TEST_F(PlanTest, MovementBehindAKernelThatCanWriteFloatStaysFloat) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1,2,3,4}> {
      a = MatMul (x, w)
      t = Transpose <perm: ints = [1,0]> (a)
      y = MatMul (t, w)
    })");
  // `a` is written as float; `t` is rounded once, for the second product.
  EXPECT_THAT(activations(result), ElementsAre("x", "t", "y"));
  EXPECT_FALSE(result.nodes[1].carries);
}

TEST_F(PlanTest, MovementThatOnlyFloatOpsReadIsLeftAlone) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}> {
      a = Conv (x, w)
      t = Transpose <perm: ints = [0,1,3,2]> (a)
      y = Softmax (t)
    })");
  EXPECT_THAT(activations(result), ElementsAre("x", "a"));
}

TEST_F(PlanTest, GemmAxesFollowTransB) {
  const char* text = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,3] y, float[1,3] z)
    <float[2,3] w = {1,2,3,4,5,6}, float[3,2] v = {1,2,3,4,5,6}> {
      y = Gemm (x, w)
      z = Gemm <transB: int = 1> (x, v)
    })";
  const Plan result = plan(text);
  ASSERT_EQ(result.weights.size(), 2U);
  EXPECT_EQ(std::get<PerChannel>(result.weights[0].spec->granularity).axis, 1);
  EXPECT_EQ(std::get<PerChannel>(result.weights[1].spec->granularity).axis, 0);
}

TEST_F(PlanTest, BlocksFallBackWhereTheyDoNotDivide) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,3] x) => (float[1,2] y) <float[3,2] w = {1,2,3,4,5,6}> { y = MatMul (x, w) })",
                           load_recipe("w4b32"));
  ASSERT_EQ(result.weights.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<PerChannel>(result.weights[0].spec->granularity));
  EXPECT_THAT(result.activations, IsEmpty());
  ASSERT_EQ(diagnostics_.size(), 1U);
  EXPECT_EQ(diagnostics_[0].rule, "recipe/block-fallback");
  EXPECT_THAT(diagnostics_[0].message, HasSubstr("does not divide 3"));

  Recipe strict = load_recipe("w4b32");
  strict.weight_fallback.reset();
  EXPECT_THROW((void)make_plan(*model_, *graph_, strict, Target::load("cpu"), diagnostics_), Error);
}

TEST_F(PlanTest, RulesDecideAndMustMatch) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,2] y)
    <float[2,2] w = {1,2,3,4}, float[2,2] v = {1,2,3,4}> {
      m = MatMul (x, w)
      y = MatMul (m, v)
    })";
  const Plan result = plan(text, with_set({"tensor:m act=uint16", "tensor:w weight=float"}));
  ASSERT_THAT(activations(result), ElementsAre("x", "m", "y"));
  EXPECT_EQ(result.activations[1].spec->dtype, Dtype::uint16);
  EXPECT_EQ(result.activations[2].spec->dtype, Dtype::uint8);
  ASSERT_EQ(result.weights.size(), 1U);
  EXPECT_EQ(result.weights[0].tensor, "v");

  try {
    (void)plan(text, with_set({"op:Matmul act=float"}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"MatMul\""));
  }
}

TEST_F(PlanTest, ExcludedNodesKeepTheirWeightsFloat) {
  Recipe recipe = load_recipe("a8w8");
  recipe.rules.push_back(exclude_rule("MatMul"));
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> { y = MatMul (x, w) })",
                           recipe);
  EXPECT_TRUE(result.empty());
  EXPECT_THAT(result.nodes[0].float_reason, HasSubstr("--exclude 'MatMul'"));
}

TEST_F(PlanTest, ASingleElementwiseOpIsARegionOfItsOwn) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] a, float[2] b) => (float[2] y) { y = Add (a, b) })");
  EXPECT_THAT(activations(result), ElementsAre("a", "b", "y"));
}

TEST_F(PlanTest, ConstantOperandsKeepAnOpFloatUnlessThereIsNothingElse) {
  const Plan alone = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] a) => (float[2] y) <float c = {3}> { y = Mul (a, c) })");
  EXPECT_THAT(activations(alone), ElementsAre("a", "y"));
  ASSERT_EQ(alone.weights.size(), 1U);
  EXPECT_EQ(alone.weights[0].spec->dtype, Dtype::uint8);

  const Plan beside = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] a) => (float[1,2] y) <float c = {3}, float[2,2] w = {1,2,3,4}> {
      m = MatMul (a, w)
      y = Mul (m, c)
    })");
  EXPECT_THAT(beside.nodes[1].float_reason, HasSubstr("constant"));
}

TEST_F(PlanTest, OtherFloatTypesAreQuantizedAsWell) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[2] a, float16[2] b) => (float16[2] y) { y = Add (a, b) })");
  EXPECT_THAT(activations(result), ElementsAre("a", "b", "y"));
}

TEST_F(PlanTest, OpsBetweenFloatOpsAreQuantizedIfThereIsNothingElse) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] a) => (float y) <float c = {3}> {
      m = Mul (a, c)
      r = ReduceMean <keepdims: int = 0> (m)
      y = Add (r, r)
    })");
  EXPECT_THAT(activations(result), ElementsAre("a", "m", "r", "y"));
}

TEST_F(PlanTest, TiedWeightBehindATransposeIsOneWeight) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64[2] i) => (float[2,3] y) <float[3,2] w = {1,2,3,4,5,6}> {
      e = Gather (w, i)
      t = Transpose <perm: ints = [1, 0]> (w)
      y = MatMul (e, t)
    })");
  ASSERT_EQ(result.weights.size(), 1U);
  EXPECT_EQ(result.weights[0].tensor, "w");
  EXPECT_EQ(std::get<PerChannel>(result.weights[0].spec->granularity).axis, 0);
  EXPECT_THAT(activations(result), ElementsAre("e", "y"));
}

TEST_F(PlanTest, WeightsThatBodiesReadAreStoredAsIntegers) {
  const Plan result = plan(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x, bool c) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> {
      y = If (c) <
        then_branch: graph = a () => (float[1,2] p) { p = MatMul (x, w) },
        else_branch: graph = b () => (float[1,2] q) { q = Identity (x) }>
    })");
  ASSERT_EQ(result.weights.size(), 1U);
  EXPECT_EQ(result.weights[0].tensor, "w");
  EXPECT_EQ(result.weights[0].uses[0].slot, -1);
}

}  // namespace
}  // namespace halfstep
