#include "halfstep/adaptation/prepare/fold_bias.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using ::testing::ElementsAre;

struct Folded {
  Model model;
  int count = 0;
  Diagnostics diagnostics{};

  [[nodiscard]] std::vector<std::string> ops() const {
    std::vector<std::string> ops;
    for (const onnx::NodeProto& node : model.graph().node()) {
      ops.push_back(node.op_type());
    }
    return ops;
  }
  /// The third input of the first node.
  [[nodiscard]] std::vector<float> bias() const {
    for (const onnx::TensorProto& tensor : model.graph().initializer()) {
      if (tensor.name() == model.graph().node(0).input(2)) {
        return model.floats(tensor);
      }
    }
    return {};
  }
};

Folded folded(const std::string& text, const std::set<std::string>& keep = {}) {
  Folded done{.model = model_from_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + text)};
  done.count = fold_bias(done.model, done.diagnostics, keep);
  EXPECT_EQ(static_cast<std::size_t>(done.count), done.diagnostics.size());
  return done;
}

constexpr const char* kConvAdd = R"(g (float[1,1,2,2] x) => (float[1,2,2,2] y)
    <float[2,1,1,1] w = {2, 3}, float[2,1,1] c = {4, 5}> { a = Conv (x, w)  y = Add (a, c) })";

TEST(FoldBias, TheAddedConstantBecomesTheBias) {
  const Folded done = folded(kConvAdd);
  EXPECT_THAT(done.ops(), ElementsAre("Conv"));
  EXPECT_THAT(done.bias(), ElementsAre(4, 5));
  EXPECT_EQ(done.model.graph().node(0).output(0), "y");
  EXPECT_EQ(done.model.graph().node(0).input(2), "c");
  EXPECT_EQ(done.diagnostics[0].rule, "prepare/fold-bias");
  EXPECT_EQ(done.diagnostics[0].subject, "y");
}

TEST(FoldBias, AnExistingBiasIsAddedUp) {
  const Folded done = folded(R"(g (float[1,1,2,2] x) => (float[1,2,2,2] y)
    <float[2,1,1,1] w = {2, 3}, float[2] b = {1, 2}, float[1,2,1,1] c = {4, 5}> {
      a = Conv (x, w, b)  y = Add (c, a) })");
  EXPECT_THAT(done.bias(), ElementsAre(5, 7));
  EXPECT_EQ(done.model.graph().node(0).input(2), "b");
  EXPECT_EQ(done.model.graph().initializer_size(), 2);
}

TEST(FoldBias, AScalarIsTheBiasOfEveryChannel) {
  EXPECT_THAT(folded(R"(g (float[1,1,2,2] x) => (float[1,2,2,2] y)
    <float[2,1,1,1] w = {2, 3}, float c = {4}> { a = Conv (x, w)  y = Add (a, c) })")
                  .bias(),
              ElementsAre(4, 4));
}

TEST(FoldBias, OneAddAfterAnother) {
  const Folded done = folded(R"(g (float[1,1,2,2] x) => (float[1,2,2,2] y)
    <float[2,1,1,1] w = {2, 3}, float[2,1,1] c = {4, 5}, float d = {1}> {
      a = Conv (x, w)  e = Add (a, c)  y = Add (e, d) })");
  EXPECT_EQ(done.count, 2);
  EXPECT_THAT(done.bias(), ElementsAre(5, 6));
}

TEST(FoldBias, ConvTransposeHasItsChannelsInGroups) {
  EXPECT_THAT(folded(R"(g (float[1,2,2,2] x) => (float[1,4,2,2] y)
    <float[2,2,1,1] w = {1, 2, 3, 4}, float[4,1,1] c = {1, 2, 3, 4}> {
      a = ConvTranspose <group = 2> (x, w)  y = Add (a, c) })")
                  .bias(),
              ElementsAre(1, 2, 3, 4));
}

TEST(FoldBias, GemmWithBeta) {
  const Folded done = folded(R"(g (float[1,2] x) => (float[1,2] y)
    <float[2,2] w = {1, 2, 3, 4}, float[1,2] b = {10, 20}, float[2] c = {1, 2}> {
      a = Gemm <beta = 0.5> (x, w, b)  y = Add (a, c) })");
  EXPECT_THAT(done.bias(), ElementsAre(6, 12));
  EXPECT_EQ(done.model.graph().node(0).attribute(0).f(), 1.0F);
}

TEST(FoldBias, AGemmWithoutC) {
  const char* graph = R"(g (float[N,2] x) => (float[N,2] y)
    <float[2,2] w = {1, 2, 3, 4}, float[2] c = {1, 2}> { a = Gemm (x, w)  y = Add (c, a) })";
  EXPECT_THAT(folded(graph).bias(), ElementsAre(1, 2));
  EXPECT_EQ(folded(graph, {"w"}).count, 0);  // the encoding of the weight decides
}

TEST(FoldBias, ASharedConstantIsCopied) {
  const Folded done = folded(R"(g (float[1,1,2,2] x) => (float[1,2,2,2] y, float[2,1,1] z)
    <float[2,1,1,1] w = {2, 3}, float[2,1,1] c = {4, 5}> {
      a = Conv (x, w)  y = Add (a, c)  z = Abs (c) })");
  EXPECT_EQ(done.model.graph().node(0).input(2), "c_folded");
  EXPECT_THAT(done.bias(), ElementsAre(4, 5));
}

TEST(FoldBias, AConstantNodeBecomesAnInitializer) {
  const Folded done = folded(R"(g (float[1,1,2,2] x) => (float[1,1,2,2] y)
    <float[1,1,1,1] w = {2}> {
      c = Constant <value = float[1,1,1] {4}> ()  a = Conv (x, w)  y = Add (a, c) })");
  EXPECT_THAT(done.ops(), ElementsAre("Conv"));
  EXPECT_THAT(done.bias(), ElementsAre(4));
}

class NoBias : public ::testing::TestWithParam<const char*> {};

TEST_P(NoBias, StaysAsItIs) { EXPECT_EQ(folded(GetParam()).count, 0); }

INSTANTIATE_TEST_SUITE_P(
    FoldBias, NoBias,
    ::testing::Values(
        // the inner tensor is read twice
        R"(g (float[1,1,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] z)
           <float[1,1,1,1] w = {2}, float c = {4}> {
             a = Conv (x, w)  y = Add (a, c)  z = Abs (a) })",
        // the inner tensor is an output
        R"(g (float[1,1,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] a)
           <float[1,1,1,1] w = {2}, float c = {4}> { a = Conv (x, w)  y = Add (a, c) })",
        // one value per column, not per channel
        R"(g (float[1,1,2,2] x) => (float[1,2,2,2] y)
           <float[2,1,1,1] w = {2, 3}, float[2] c = {4, 5}> { a = Conv (x, w)  y = Add (a, c) })",
        // the sum has more channels than the operator
        R"(g (float[1,1,2,2] x) => (float[1,2,2,2] y)
           <float[1,1,1,1] w = {2}, float[2,1,1] c = {4, 5}> { a = Conv (x, w)  y = Add (a, c) })",
        // the sum has more axes
        R"(g (float[1,1,2,2] x) => (float[1,1,1,2,2] y)
           <float[1,1,1,1] w = {2}, float[1,1,1,1,1] c = {4}> { a = Conv (x, w)  y = Add (a, c) })",
        // the weight is computed
        R"(g (float[2,2] x, float[2,2] w) => (float[2,2] y) <float[2] c = {4, 5}> {
             a = Gemm (x, w)  y = Add (a, c) })",
        // a product without a place for the bias
        R"(g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] c = {4, 5}> {
             a = MatMul (x, w)  y = Add (a, c) })",
        // the bias is computed
        R"(g (float[1,1,2,2] x, float[1] b) => (float[1,1,2,2] y)
           <float[1,1,1,1] w = {2}, float c = {4}> { a = Conv (x, w, b)  y = Add (a, c) })",
        // a residual connection
        R"(g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {2}> {
             a = Conv (x, w)  y = Add (a, x) })"));

TEST(FoldBias, EncodingsOfTheirOwnAreKept) {
  for (const char* tensor : {"a", "c"}) {
    EXPECT_EQ(folded(kConvAdd, {tensor}).count, 0) << tensor;
  }
  EXPECT_EQ(folded(kConvAdd, {"w", "y", "x"}).count, 1);
}

}  // namespace
}  // namespace halfstep
