#include "halfstep/adaptation/structure.h"

#include <gtest/gtest.h>

#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

GraphStructure structure_of(const Model& model, const GraphIndex& graph, const Target& target) {
  (void)model;
  return GraphStructure(graph, target, [](int) { return true; });
}

class Structure : public ::testing::Test {
 protected:
  Target target_ = Target::load("cpu");
};

TEST_F(Structure, ConvReluIsOneGroup) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2,4,4] x) => (float[1,1,4,4] y) <float[1,2,1,1] w = {1, 2}> {
      a = Conv (x, w)
      y = Relu (a)
    })");
  const GraphIndex graph(model);
  const GraphStructure structure = structure_of(model, graph, target_);
  ASSERT_EQ(structure.groups().size(), 1U);
  EXPECT_EQ(structure.groups()[0].pattern->name, "conv_activation");
  EXPECT_TRUE(structure.is_inner("a"));
  EXPECT_FALSE(structure.is_inner("y"));
}

TEST_F(Structure, InnerTensorReadTwiceIsNoGroup) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2,4,4] x) => (float[1,1,4,4] y, float[1,1,4,4] z) <float[1,2,1,1] w = {1, 2}> {
      a = Conv (x, w)
      y = Relu (a)
      z = Sigmoid (a)
    })");
  const GraphIndex graph(model);
  EXPECT_TRUE(structure_of(model, graph, target_).groups().empty());
}

TEST_F(Structure, InnerTensorThatIsAGraphOutputIsNoGroup) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2,4,4] x) => (float[1,1,4,4] y, float[1,1,4,4] a) <float[1,2,1,1] w = {1, 2}> {
      a = Conv (x, w)
      y = Relu (a)
    })");
  const GraphIndex graph(model);
  EXPECT_TRUE(structure_of(model, graph, target_).groups().empty());
}

TEST_F(Structure, MatMulBiasNeedsAConstantWeight) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,4] x, float[4,3] v) => (float[1,3] y, float[1,3] z)
    <float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[3] b = {1,2,3}> {
      a = MatMul (x, w)
      y = Add (a, b)
      c = MatMul (x, v)
      z = Add (c, b)
    })");
  const GraphIndex graph(model);
  const GraphStructure structure = structure_of(model, graph, target_);
  ASSERT_EQ(structure.groups().size(), 1U);
  EXPECT_EQ(structure.groups()[0].pattern->name, "matmul_bias");
  EXPECT_TRUE(structure.is_inner("a"));
  EXPECT_FALSE(structure.is_inner("c"));
}

TEST_F(Structure, LongestPatternWins) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,4] x) => (float[1,3] y)
    <float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[3] b = {1,2,3}> {
      a = MatMul (x, w)
      c = Add (b, a)
      y = Relu (c)
    })");
  const GraphIndex graph(model);
  const GraphStructure structure = structure_of(model, graph, target_);
  ASSERT_EQ(structure.groups().size(), 1U);
  EXPECT_EQ(structure.groups()[0].pattern->name, "matmul_bias_activation");
  EXPECT_EQ(structure.groups()[0].nodes.size(), 3U);
}

TEST_F(Structure, PadMovesDataOnlyIfItAddsZeros) {
  const Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[4] y, float[4] z, float[4] u)
    <int64[2] p = {1, 1}, float zero = {0}, float one = {1}> {
      y = Pad (x, p)
      z = Pad (x, p, zero)
      u = Pad (x, p, one)
    })");
  const GraphIndex graph(model);
  EXPECT_TRUE(moves_data(graph, model, target_, model.graph().node(0)));
  EXPECT_TRUE(moves_data(graph, model, target_, model.graph().node(1)));
  EXPECT_FALSE(moves_data(graph, model, target_, model.graph().node(2)));
}

}  // namespace
}  // namespace halfstep
