#include "halfstep/adaptation/prepare/fold_batch_norm.h"

#include <cmath>

#include <gtest/gtest.h>

#include "halfstep/model/graph_index.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

constexpr const char* kConvNorm = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[1,1,2,2] x) => (float[1,2,2,2] y)
  <float[2,1,1,1] w = {2, 3}, float[2] s = {4, 1}, float[2] t = {1, 0},
   float[2] m = {0.5, 1}, float[2] v = {1, 0}> {
    a = Conv (x, w)
    b = BatchNormalization <epsilon: float = 0.001> (a, s, t, m, v)
    y = Relu (b)
  })";

std::vector<float> values(const Model& model, const std::string& name) {
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) {
      return model.floats(tensor);
    }
  }
  ADD_FAILURE() << "no initializer " << name;
  return {};
}

TEST(FoldBatchNorm, WeightsAndShiftAreFolded) {
  Model model = model_from_text(kConvNorm);
  Diagnostics diagnostics;
  EXPECT_EQ(fold_batch_norm(model, diagnostics), 1);
  ASSERT_EQ(model.graph().node_size(), 2);
  EXPECT_EQ(model.graph().node(0).output(0), "b");
  ASSERT_EQ(model.graph().node(0).input_size(), 3);
  const double factor0 = 4 / std::sqrt(1.001), factor1 = 1 / std::sqrt(0.001);
  const std::vector<float> weight = values(model, "w");
  EXPECT_FLOAT_EQ(weight[0], static_cast<float>(2 * factor0));
  EXPECT_FLOAT_EQ(weight[1], static_cast<float>(3 * factor1));
  const std::vector<float> bias = values(model, model.graph().node(0).input(2));
  EXPECT_FLOAT_EQ(bias[0], static_cast<float>(1 - 0.5 * factor0));
  EXPECT_FLOAT_EQ(bias[1], static_cast<float>(-factor1));
  EXPECT_EQ(model.graph().initializer_size(), 2);  // mean, variance, scale are gone
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].rule, "prepare/fold-batch-norm");
}

TEST(FoldBatchNorm, SharedWeightIsCopied) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] z)
    <float[1,1,1,1] w = {2}, float[1] s = {3}, float[1] t = {0}, float[1] m = {0}, float[1] v = {1}> {
      a = Conv (x, w)
      y = BatchNormalization <epsilon: float = 0.0> (a, s, t, m, v)
      z = Conv (x, w)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_batch_norm(model, diagnostics), 1);
  EXPECT_EQ(values(model, "w"), std::vector<float>{2});
  EXPECT_EQ(values(model, model.graph().node(0).input(1)), std::vector<float>{6});
  EXPECT_NE(model.graph().node(0).input(1), "w");
}

TEST(FoldBatchNorm, StaysWhereOthersReadTheConvolution) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] a)
    <float[1,1,1,1] w = {2}, float[1] s = {3}, float[1] t = {0}, float[1] m = {0}, float[1] v = {1}> {
      a = Conv (x, w)
      y = BatchNormalization (a, s, t, m, v)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_batch_norm(model, diagnostics), 0);
  EXPECT_EQ(model.graph().node_size(), 2);
}

TEST(FoldBatchNorm, ParametersMayComeFromConstantNodes) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,2,2] x) => (float[1,1,2,2] y)
    <float[1,1,1,1] w = {2}, float[1] t = {1}, float[1] m = {0}, float[1] v = {1}> {
      s = Constant <value: tensor = float[1] {3}> ()
      t2 = Constant <value: tensor = float[1] {5}> ()
      a = Conv (x, w)
      y = BatchNormalization <epsilon: float = 0.0> (a, s, t2, m, v)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_batch_norm(model, diagnostics), 1);
  ASSERT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().node(0).input(2), "t2");
  EXPECT_EQ(values(model, "t2"), std::vector<float>{5});
  EXPECT_EQ(values(model, "w"), std::vector<float>{6});
}

TEST(FoldBatchNorm, GroupedConvTransposeScalesItsOutputChannels) {
  Model model = model_from_text(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2,1,1] x) => (float[1,4,1,1] y)
    <float[2,2,1,1] w = {1, 1, 1, 1}, float[4] s = {2, 3, 5, 7}, float[4] t = {0, 0, 0, 0},
     float[4] m = {0, 0, 0, 0}, float[4] v = {1, 1, 1, 1}> {
      a = ConvTranspose <group: int = 2> (x, w)
      y = BatchNormalization <epsilon: float = 0.0> (a, s, t, m, v)
    })");
  Diagnostics diagnostics;
  EXPECT_EQ(fold_batch_norm(model, diagnostics), 1);
  EXPECT_EQ(values(model, "w"), (std::vector<float>{2, 3, 5, 7}));
}

}  // namespace
}  // namespace halfstep
