#include "halfstep/adaptation/prepare/fold_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> op_types(const Model& model) {
  std::vector<std::string> types;
  for (const onnx::NodeProto& node : model.graph().node()) {
    types.push_back(node.op_type());
  }
  return types;
}

const onnx::TensorProto& initializer(const Model& model, int i) {
  return model.graph().initializer(i);
}

TEST(FoldConstants, ChainsBecomeOneConstantWithTheLastName) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,3] y)
    <float[6] w = {1, 2, 3, 4, 5, 6}, int64[2] s = {3, -1}> {
      r = Reshape (w, s)
      i = Identity (r)
      c = Cast <to: int = 1> (i)
      t = Transpose (c)
      y = MatMul (x, t)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_constants(model, diagnostics), 4);
  EXPECT_THAT(op_types(model), ElementsAre("MatMul"));
  ASSERT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(initializer(model, 0).name(), "t");
  EXPECT_THAT(shape_of(initializer(model, 0)), ElementsAre(2, 3));
  EXPECT_THAT(model.floats(initializer(model, 0)), ElementsAre(1, 3, 5, 2, 4, 6));
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_THAT(diagnostics[0].message, HasSubstr("Reshape, Identity, Cast, Transpose"));
}

TEST(FoldConstants, SqueezeUnsqueezeAndFlattenInBothForms) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,2,1] y)
    <float[1,2,1] w = {1, 2}, int64[1] a = {-1}, int64[1] front = {0}> {
      s = Squeeze (w, a)
      u = Unsqueeze (s, front)
      f = Flatten <axis: int = 2> (u)
      y = Mul (f, x)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_constants(model, diagnostics), 3);
  EXPECT_THAT(shape_of(initializer(model, model.graph().initializer_size() - 1)),
              ElementsAre(1, 2));
}

TEST(FoldConstants, TiedWeightsStayTied) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64[2] i) => (float[2,3] y) <float[3,2] w = {1,2,3,4,5,6}> {
      e = Gather (w, i)
      t = Transpose (w)
      y = MatMul (e, t)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_constants(model, diagnostics), 0);
  EXPECT_THAT(op_types(model), ElementsAre("Gather", "Transpose", "MatMul"));
}

TEST(FoldConstants, EqualViewsBecomeOneTensor) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1,2,3,4}> {
      t = Transpose (w)
      u = Transpose (w)
      m = MatMul (x, t)
      y = MatMul (m, u)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_constants(model, diagnostics), 2);
  EXPECT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().node(1).input(1), "t");
}

TEST(FoldConstants, OutputsAndIntegersStay) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[2,2] y, float[2,2] t) <float[2,2] w = {1,2,3,4}, int64[1] n = {2},
      int64[1] a = {0}> {
      t = Transpose (w)
      u = Squeeze (n, a)
      v = Unsqueeze (u, a)
      s = Concat <axis: int = 0> (v, v)
      r = Reshape (x, s)
      y = Add (r, t)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_constants(model, diagnostics), 0);
  EXPECT_EQ(model.graph().node_size(), 6);
}

TEST(FoldConstants, ImpossibleStepsAreLeftAlone) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (y) <float[2,2] w = {1,2,3,4}, int64[2] s = {3, 3}> {
      r = Reshape (w, s)
      y = MatMul (x, r)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_constants(model, diagnostics), 0);
  EXPECT_THAT(op_types(model), ElementsAre("Reshape", "MatMul"));
}

}  // namespace
}  // namespace halfstep
