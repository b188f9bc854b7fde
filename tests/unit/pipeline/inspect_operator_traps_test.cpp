#include "halfstep/inspect_operator_traps.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::set<std::string> rules(const char* text) {
  const Model model = model_from_text(text);
  const GraphIndex index(model);
  Diagnostics diagnostics;
  find_operator_traps(model, index, diagnostics);
  std::set<std::string> found;
  for (const Diagnostic& diagnostic : diagnostics) {
    found.insert(diagnostic.rule + " " + diagnostic.subject);
  }
  return found;
}

TEST(OperatorTraps, APlainModelHasNone) {
  EXPECT_THAT(rules(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> { y = MatMul (x, w) })"),
              IsEmpty());
}

TEST(OperatorTraps, BodiesFunctionsAndTypes) {
  EXPECT_THAT(
      rules(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[1,2] x, bool c) => (float[1,2] y)
    <float[2,2] w = {1,2,3,4}, double[2] d = {1,2}, float[0,2] none = {}> {
      h = If (c) <
        then_branch: graph = a () => (float[1,2] p) { p = MatMul (x, w) },
        else_branch: graph = b () => (float[1,2] q) { q = Identity (x) }>
      y = local.linear (h, w)
    }
    <domain: "local", opset_import: ["" : 17]>
    linear (x, w) => (y) { y = MatMul (x, w) })"),
      UnorderedElementsAre("inspect/weight-in-body p", "inspect/local-function local.linear",
                           "inspect/other-float double", "inspect/empty-constant none"));
}

TEST(OperatorTraps, OperatorsWithTrouble) {
  EXPECT_THAT(rules(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,2,2] x, float[1,1,1,1] k) => (float[1,1,2,2] y, float[1,1,2,2] n)
    <float[1] s = {1}, float[1] b = {0}, float[1] m = {0}, float[1] v = {0}, float low = {-10000},
     float step = {0.5}> {
      c = Conv (x, k)
      r = Relu (c)
      n = BatchNormalization (r, s, b, m, v)
      q = QuantizeLinear (n, step)
      d = DequantizeLinear (q, step)
      y = Add (d, low)
    })"),
              UnorderedElementsAre("inspect/computed-weight k", "inspect/batch-norm-alone n",
                                   "inspect/batch-norm-variance v", "inspect/already-quantized n",
                                   "inspect/mask-constant low", "inspect/output-also-read n"));
}

TEST(OperatorTraps, RecurrenceAndSequences) {
  const auto found = rules(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,2] x) => (float[1,1,1,1] y) <float[1,4,2] w = {1,2,3,4,5,6,7,8},
      float[1,4,1] r = {1,2,3,4}> {
      y = LSTM <hidden_size: int = 1> (x, w, r)
      s = SequenceConstruct (x)
    })");
  EXPECT_THAT(found, Contains("inspect/recurrent y"));
  EXPECT_THAT(found, Contains("inspect/container s"));
}

}  // namespace
}  // namespace halfstep
