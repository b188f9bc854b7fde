#include "halfstep/adaptation/prepare/fuse_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

std::vector<std::string> ops_after(const std::string& text) {
  Model model = model_from_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + text);
  Diagnostics diagnostics;
  const int found = fuse_patterns(model, diagnostics);
  EXPECT_EQ(static_cast<std::size_t>(found), diagnostics.size());
  std::vector<std::string> ops;
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() != "Constant") {  // axes that became inputs
      ops.push_back(node.op_type());
    }
  }
  return ops;
}

using ::testing::ElementsAre;

TEST(FusePatterns, GeluAsPyTorchWritesIt) {
  EXPECT_THAT(ops_after(R"(g (float[2,4] x) => (float[2,4] y)
      <float r = {1.4142135}, float one = {1}, float half = {0.5}> {
        a = Div (x, r)  b = Erf (a)  c = Add (b, one)  d = Mul (x, c)  y = Mul (d, half) })"),
              ElementsAre("Gelu"));
}

TEST(FusePatterns, GeluWithTheHalfFirst) {
  EXPECT_THAT(ops_after(R"(g (float[2,4] x) => (float[2,4] y)
      <float r = {0.70710677}, float one = {1}, float half = {0.5}> {
        h = Mul (x, half)  a = Mul (x, r)  b = Erf (a)  c = Add (one, b)  y = Mul (h, c) })"),
              ElementsAre("Gelu"));
}

TEST(FusePatterns, AnInnerTensorReadElsewhereKeepsThePieces) {
  EXPECT_THAT(ops_after(R"(g (float[2,4] x) => (float[2,4] y, float[2,4] b)
      <float r = {1.4142135}, float one = {1}, float half = {0.5}> {
        a = Div (x, r)  b = Erf (a)  c = Add (b, one)  d = Mul (x, c)  y = Mul (d, half) })"),
              ElementsAre("Div", "Erf", "Add", "Mul", "Mul"));
}

TEST(FusePatterns, HardSwishFromClip) {
  EXPECT_THAT(ops_after(R"(g (float[2,4] x) => (float[2,4] y)
      <float three = {3}, float zero = {0}, float six = {6}> {
        a = Add (x, three)  b = Clip (a, zero, six)  c = Mul (x, b)  y = Div (c, six) })"),
              ElementsAre("HardSwish"));
}

TEST(FusePatterns, HardSwishFromHardSigmoid) {
  EXPECT_THAT(ops_after(R"(g (float[2,4] x) => (float[2,4] y) {
        a = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)  y = Mul (a, x) })"),
              ElementsAre("HardSwish"));
}

TEST(FusePatterns, LayerNormalization) {
  EXPECT_THAT(ops_after(R"(g (float[2,4] x) => (float[2,4] y)
      <float two = {2}, float e = {0.00001}, float[4] s = {1, 2, 3, 4}, float[4] b = {0, 0, 0, 1}> {
        m = ReduceMean <axes = [-1]> (x)  d = Sub (x, m)  q = Pow (d, two)
        v = ReduceMean <axes = [-1]> (q)  w = Add (v, e)  r = Sqrt (w)
        n = Div (d, r)  t = Mul (n, s)  y = Add (t, b) })"),
              ElementsAre("LayerNormalization"));
}

TEST(FusePatterns, RmsNormalization) {
  EXPECT_THAT(ops_after(R"(g (float[2,4] x) => (float[2,4] y)
      <float two = {2}, float e = {0.00001}, float[4] s = {1, 2, 3, 4}> {
        q = Pow (x, two)  v = ReduceMean <axes = [-1]> (q)  w = Add (v, e)  r = Sqrt (w)
        n = Div (x, r)  y = Mul (n, s) })"),
              ElementsAre("RMSNormalization"));
}

TEST(FusePatterns, OtherConstantsAreNoPattern) {
  EXPECT_THAT(ops_after(R"(g (float[2,4] x) => (float[2,4] y)
      <float two = {2}, float zero = {0}, float six = {6}> {
        a = Add (x, two)  b = Clip (a, zero, six)  c = Mul (x, b)  y = Div (c, six) })"),
              ElementsAre("Add", "Clip", "Mul", "Div"));
}

}  // namespace
}  // namespace halfstep
