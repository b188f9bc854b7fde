#include "halfstep/adaptation/prepare/hoist_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/adaptation/prepare/inline_functions.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using ::testing::HasSubstr;

TEST(HoistWeights, WeightsOfBodiesMoveAndClashingNamesAreMadeUnique) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x, bool c) => (float[1,2] y) {
      y = If (c) <
        then_branch: graph = a () => (float[1,2] p) <float[2,2] w = {1,2,3,4}> {
          p = MatMul (x, w)
        },
        else_branch: graph = b () => (float[1,2] q) <float[2,2] w = {5,6,7,8}, float s = {2}> {
          m = MatMul (x, w)
          q = Mul (m, s)
        }>
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(hoist_weights(model, diagnostics), 2);
  ASSERT_EQ(model.graph().initializer_size(), 2);
  const onnx::NodeProto& branches = model.graph().node(0);
  for (int i = 0; i < 2; ++i) {
    const onnx::GraphProto& body = branches.attribute(i).g();
    EXPECT_EQ(body.node(0).input(1), model.graph().initializer(i).name());
    EXPECT_EQ(body.initializer_size(), i);  // the factor stays
  }
  EXPECT_NE(model.graph().initializer(0).name(), model.graph().initializer(1).name());
  EXPECT_THAT(diagnostics[0].message, HasSubstr("body 'a'"));
}

TEST(HoistWeights, OutputsOfBodiesStay) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x, bool c) => (float[2,2] y) {
      y = If (c) <
        then_branch: graph = a () => (float[2,2] w) <float[2,2] w = {1,2,3,4}> {
          p = MatMul (x, w)
        },
        else_branch: graph = b () => (float[2,2] v) <float[2,2] v = {5,6,7,8}> { q = Relu (x) }>
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(hoist_weights(model, diagnostics), 0);
}

TEST(InlineFunctions, FunctionsWithWeightsAreWrittenOut) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> {
      h = local.outer (x, w)
      y = local.plain (h)
    }
    <domain: "local", opset_import: ["" : 17, "local" : 1]>
    outer (x, w) => (y) { y = local.inner (x, w) }
    <domain: "local", opset_import: ["" : 17]>
    inner (x, w) => (y) { y = MatMul (x, w) }
    <domain: "local", opset_import: ["" : 17]>
    plain (x) => (y) { y = Relu (x) })");
  Diagnostics diagnostics;
  EXPECT_EQ(inline_functions(model, diagnostics), 2);
  EXPECT_EQ(model.graph().node(0).op_type(), "MatMul");
  EXPECT_EQ(model.graph().node(0).output(0), "h");
  ASSERT_EQ(model.proto().functions_size(), 1);
  EXPECT_EQ(model.proto().functions(0).name(), "plain");
}

}  // namespace
}  // namespace halfstep
