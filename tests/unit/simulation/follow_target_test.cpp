#include "halfstep/simulation/follow_target.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/simulation/pools.h"
#include "halfstep/simulation/target_ops.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep::simulation {
namespace {

using testing::Contains;
using testing::ElementsAre;

Model model_of(const std::string& nodes) {
  return Model::from_proto(proto_from_text(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[1, 4] x) => (float[1, 4] y)
    <float s = {0.5}, uint8 z = {128}, float t = {0.25}, uint8 u = {100}, float v = {0.125},
     int8[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, int8 zero = {0}>
    {
      qx = QuantizeLinear(x, s, z)
      dx = DequantizeLinear(qx, s, z)
      dw = DequantizeLinear(w, v, zero)
      )" + nodes + "}"),
                           "model");
}

std::vector<std::string> types(const Model& model) {
  std::vector<std::string> types;
  for (const onnx::NodeProto& node : model.graph().node()) {
    types.push_back(node.op_type());
  }
  return types;
}

const onnx::NodeProto& only(const Model& model, std::string_view type) {
  const auto& nodes = model.graph().node();
  const auto found = std::ranges::find_if(
      nodes, [&](const onnx::NodeProto& node) { return node.op_type() == type; });
  EXPECT_NE(found, nodes.end()) << type;
  return *found;
}

const onnx::TensorProto* find_initializer(const Model& model, const std::string& name) {
  const auto& all = model.graph().initializer();
  const auto found = std::ranges::find_if(
      all, [&](const onnx::TensorProto& tensor) { return tensor.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

float float_of(const onnx::NodeProto& node, std::string_view name) {
  return find_attribute(node, name)->f();
}

TEST(FollowTarget, AProductIsRequantizedForItsOwnCodes) {
  Model model = model_of(R"(
      m = MatMul(dx, dw)
      r = Relu(m)
      qr = QuantizeLinear(r, t, u)
      y = DequantizeLinear(qr, t, u))");
  EXPECT_EQ(follow_target(model), 1U);
  const onnx::NodeProto& node = only(model, kRequantize);
  EXPECT_EQ(node.output(0), "m");
  EXPECT_EQ(float_of(node, kStep), 0.25F);
  EXPECT_EQ(float_of(node, kScale), 0.5F);
  EXPECT_THAT(find_attribute(node, kScales)->floats(), ElementsAre(0.125F));
  EXPECT_EQ(model.proto().opset_import().rbegin()->domain(), kDomain);
}

TEST(FollowTarget, AFusedActivationReadsSumsOfItsOwn) {
  Model model = model_of(R"(
      m = MatMul(dx, dw)
      qm = QuantizeLinear(m, s, z)
      dm = DequantizeLinear(qm, s, z)
      r = Relu(dm)
      qr = QuantizeLinear(r, t, u)
      y = DequantizeLinear(qr, t, u))");
  EXPECT_EQ(follow_target(model), 1U);
  const std::vector<std::string> found = types(model);
  EXPECT_EQ(std::ranges::count(found, std::string(kRequantize)), 2);
  EXPECT_NE(only(model, "Relu").input(0), "dm");
}

TEST(FollowTarget, AnActivationThatIsNoClampReadsSumsThatAreNoCodes) {
  Model model = model_of(R"(
      m = MatMul(dx, dw)
      r = HardSwish(m)
      qr = QuantizeLinear(r, t, u)
      y = DequantizeLinear(qr, t, u))");
  EXPECT_EQ(follow_target(model), 1U);
  const onnx::NodeProto& node = only(model, kRequantize);
  EXPECT_EQ(node.output(0), "m");
  EXPECT_EQ(float_of(node, kHighest), 155.0F);
}

TEST(FollowTarget, NoHardSwishReadsTheSumsOfADepthwiseConvOfAnEvenStride) {
  for (const auto& [stride, requantized] : {std::pair{"1", 2}, std::pair{"2", 1}}) {
    std::string text = R"(
      <ir_version: 10, opset_import: ["" : 21]>
      g (float[1, 2, 5, 5] x) => (float[1, 2, N, N] y)
      <float s = {0.5}, uint8 z = {128}, float v = {0.125}, int8[2, 1, 1, 1] w = {1, 2},
       int8 zero = {0}>
      {
        qx = QuantizeLinear(x, s, z)
        dx = DequantizeLinear(qx, s, z)
        dw = DequantizeLinear(w, v, zero)
        c = Conv<group = 2, strides = [1, STRIDE]>(dx, dw)
        qc = QuantizeLinear(c, s, z)
        dc = DequantizeLinear(qc, s, z)
        h = HardSwish(dc)
        qh = QuantizeLinear(h, s, z)
        y = DequantizeLinear(qh, s, z)
      })";
    text.replace(text.find("STRIDE"), 6, stride);
    Model model = model_from_text(text);
    EXPECT_EQ(follow_target(model), 1U);
    EXPECT_EQ(std::ranges::count(types(model), std::string(kRequantize)), requantized) << stride;
  }
}

TEST(FollowTarget, StridedDepthwiseSumsAreThoseOfTheVectorUnit) {
  const std::string text = R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[1, 2, 5, 5] x) => (float[1, 2, N, N] y)
    <float s = {0.5}, uint8 z = {128}, float v = {0.125}, int8[2, 1, 3, 3] w = {
       1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, int8 zero = {0}>
    {
      qx = QuantizeLinear(x, s, z)
      dx = DequantizeLinear(qx, s, z)
      dw = DequantizeLinear(w, v, zero)
      c = Conv<group = 2, strides = [STRIDE, STRIDE]>(dx, dw)
      qc = QuantizeLinear(c, s, z)
      y = DequantizeLinear(qc, s, z)
    })";
  for (const auto& [stride, on_vector_unit] : {std::pair{"1", 0}, std::pair{"2", 1}}) {
    std::string own = text;
    while (own.find("STRIDE") != std::string::npos) {
      own.replace(own.find("STRIDE"), 6, stride);
    }
    Model model = model_from_text(own);
    (void)follow_target(model);
    const onnx::NodeProto& node = only(model, kRequantize);
    EXPECT_EQ(find_attribute(node, kVectorUnit)->i(), on_vector_unit) << stride;
    EXPECT_EQ(float_of(node, kZeroPoint), 128.0F);
  }
}

TEST(FollowTarget, ASwishReadsNoCodesOfTheSigmoid) {
  Model model = model_of(R"(
      g = Sigmoid(dx)
      qg = QuantizeLinear(g, t, z)
      dg = DequantizeLinear(qg, t, z)
      p = Mul(dx, dg)
      qp = QuantizeLinear(p, t, u)
      y = DequantizeLinear(qp, t, u))");
  EXPECT_EQ(follow_target(model), 1U);
  EXPECT_EQ(only(model, "Mul").input(0), "dx");
  EXPECT_EQ(only(model, "Mul").input(1), "g");
}

TEST(FollowTarget, AProductWithTheSigmoidOfAnotherTensorKeepsItsCodes) {
  Model model = model_of(R"(
      m = Neg(dx)
      qm = QuantizeLinear(m, s, z)
      dm = DequantizeLinear(qm, s, z)
      g = Sigmoid(dm)
      qg = QuantizeLinear(g, t, z)
      dg = DequantizeLinear(qg, t, z)
      p = Mul(dg, dx)
      qp = QuantizeLinear(p, t, u)
      y = DequantizeLinear(qp, t, u))");
  EXPECT_EQ(follow_target(model), 0U);
  EXPECT_EQ(only(model, "Mul").input(0), "dg");
}

TEST(FollowTarget, OperandsOfAnotherEncodingAreConvertedFirst) {
  Model model = model_of(R"(
      m = Neg(dx)
      qm = QuantizeLinear(m, t, u)
      dm = DequantizeLinear(qm, t, u)
      c = Max(dx, dm)
      qc = QuantizeLinear(c, t, u)
      y = DequantizeLinear(qc, t, u))");
  EXPECT_EQ(follow_target(model), 1U);
  const onnx::NodeProto& largest = only(model, "Max");
  EXPECT_NE(largest.input(0), "dx");
  EXPECT_EQ(largest.input(1), "dm");
  EXPECT_EQ(only(model, "Cast").input(0), "qx");
}

TEST(FollowTarget, APartOfASplitIsConvertedToItsOwnEncoding) {
  Model model = model_of(R"(
      a, b = Split<axis = 1, num_outputs = 2>(dx)
      qa = QuantizeLinear(a, s, z)
      da = DequantizeLinear(qa, s, z)
      qb = QuantizeLinear(b, t, u)
      db = DequantizeLinear(qb, t, u)
      y = Concat<axis = 1>(da, db))");
  EXPECT_EQ(follow_target(model), 1U);
  const onnx::NodeProto& split = only(model, "Split");
  EXPECT_EQ(split.output(0), "a");
  EXPECT_NE(split.output(1), "b");
  EXPECT_EQ(only(model, "Round").input(0), only(model, "Div").output(0));
  EXPECT_EQ(only(model, "Div").input(0), split.output(1));
}

TEST(FollowTarget, CodesThatBecomeOthersDirectlyAreConverted) {
  Model model = model_of(R"(
      q = QuantizeLinear(dx, t, u)
      y = DequantizeLinear(q, t, u))");
  EXPECT_EQ(follow_target(model), 1U);
  EXPECT_EQ(only(model, "Cast").input(0), "qx");
}

TEST(FollowTarget, ALinearResizeIsRoundedToTheEncodingOfItsInput) {
  const std::string text = R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[1, 2, 4, 4] x) => (float[1, 2, 8, 8] y)
    <float s = {0.5}, uint8 z = {128}, float t = {0.75}, float[4] scales = {1, 1, 2, 2}>
    {
      qx = QuantizeLinear(x, s, z)
      dx = DequantizeLinear(qx, s, z)
      r = Resize<mode = "linear", coordinate_transformation_mode = "WAY">(dx, , scales)
      qr = QuantizeLinear(r, t, z)
      y = DequantizeLinear(qr, t, z)
    })";
  for (const auto& [way, followed] :
       {std::pair{"half_pixel", 1U}, std::pair{"align_corners", 0U}}) {
    std::string own = text;
    own.replace(own.find("WAY"), 3, way);
    Model model = model_from_text(own);
    EXPECT_EQ(follow_target(model), followed) << way;
    EXPECT_EQ(only(model, "Resize").input(0) == "dx", followed == 0) << way;
  }
}

Model float16_through_codes(const std::string& reader) {
  return model_of(R"(
      h = Cast<to = 10>(x)
      f = Cast<to = 1>(h)
      i = Identity(f)
      q = QuantizeLinear(i, t, u)
      d = DequantizeLinear(q, t, u)
      )" + reader);
}

TEST(FollowTarget, Float16ValuesThroughCodesAreOnlyClamped) {
  Model model = float16_through_codes(R"(
      j = Identity(d)
      k = Cast<to = 10>(j)
      y = Cast<to = 1>(k))");
  EXPECT_EQ(follow_target(model), 1U);
  const onnx::NodeProto& clip = only(model, "Clip");
  EXPECT_EQ(clip.input(0), "i");
  EXPECT_THAT(model.floats(*find_initializer(model, clip.input(1))), ElementsAre(-25.0F));
  EXPECT_THAT(model.floats(*find_initializer(model, clip.input(2))), ElementsAre(38.75F));
  const auto& nodes = model.graph().node();
  EXPECT_TRUE(std::ranges::any_of(nodes, [&clip](const onnx::NodeProto& node) {
    return node.output(0) == "j" && node.input(0) == clip.output(0);
  }));
}

TEST(FollowTarget, CodesThatAreReadAsFloat32StayRounded) {
  Model model = float16_through_codes("y = Identity(d)");
  EXPECT_EQ(follow_target(model), 0U);
}

Model pool_of(const std::string& attributes) {
  return model_from_text(R"(
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[1, 2, 12, 12] x) => (float[1, 2, N, M] y)
    <float s = {0.5}, uint8 z = {128}, float t = {0.25}, uint8 u = {100}>
    {
      qx = QuantizeLinear(x, s, z)
      dx = DequantizeLinear(qx, s, z)
      p = AveragePool<)" +
                         attributes +
                         R"(>(dx)
      qp = QuantizeLinear(p, t, u)
      y = DequantizeLinear(qp, t, u)
    })");
}

TEST(FollowTarget, AnAveragePoolIsComputedInTheWayOfItsWindow) {
  for (const auto& [attributes, way] :
       {std::pair{"kernel_shape = [2, 2], strides = [2, 2]", PoolWay::moved},
        std::pair{"kernel_shape = [3, 3], strides = [3, 3]", PoolWay::exact},
        std::pair{"kernel_shape = [3, 3]", PoolWay::matrix},
        std::pair{"kernel_shape = [3, 3], strides = [2, 2]", PoolWay::vector},
        std::pair{"kernel_shape = [3, 3], pads = [1, 1, 1, 1]", PoolWay::moved},
        std::pair{"kernel_shape = [12, 12]", PoolWay::exact}}) {
    Model model = pool_of(attributes);
    EXPECT_EQ(follow_target(model), 1U) << attributes;
    const onnx::NodeProto& node = only(model, kAverage);
    EXPECT_EQ(find_attribute(node, kWay)->i(), static_cast<int>(way)) << attributes;
    EXPECT_EQ(node.output(0), "p");
    EXPECT_EQ(float_of(node, kZeroPoint), 100.0F);
  }
  Model overlapping = pool_of("kernel_shape = [2, 2]");
  EXPECT_EQ(follow_target(overlapping), 0U);
}

TEST(FollowTarget, APoolOfAnEvenSideIsComputedInStages) {
  Model model = pool_of("kernel_shape = [6, 6], strides = [6, 6]");
  EXPECT_EQ(follow_target(model), 1U);
  EXPECT_THAT(types(model),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "AveragePool", kAverage,
                          "AveragePool", kAverage, "QuantizeLinear", "DequantizeLinear"));
  EXPECT_THAT(find_attribute(model.graph().node(2), "strides")->ints(), ElementsAre(3, 3));
  EXPECT_EQ(float_of(model.graph().node(3), kScale), 0.5F);
  EXPECT_EQ(float_of(model.graph().node(5), kScale), 0.25F);
  EXPECT_EQ(model.graph().node(5).output(0), "p");
}

TEST(FollowTarget, ASecondActivationIsRoundedByColumn) {
  Model model = model_of(R"(
      dt = Transpose<perm = [1, 0]>(dx)
      qt = QuantizeLinear(dt, s, z)
      dq = DequantizeLinear(qt, s, z)
      m = MatMul(dx, dq)
      qm = QuantizeLinear(m, t, u)
      z1 = DequantizeLinear(qm, t, u)
      y = Add(x, z1))");
  EXPECT_EQ(follow_target(model), 1U);
  EXPECT_EQ(only(model, "MatMul").input(1), only(model, kSecondOperand).output(0));
  EXPECT_EQ(only(model, kRequantize).input(1), only(model, kSecondOperand).output(1));
}

TEST(FollowTarget, ASumIsComputedFromCodes) {
  Model model = model_of(R"(
      a = Add(dx, dx)
      qa = QuantizeLinear(a, t, u)
      y = DequantizeLinear(qa, t, u))");
  EXPECT_EQ(follow_target(model), 1U);
  EXPECT_THAT(types(model), Contains("Floor"));
  EXPECT_EQ(only(model, "Cast").input(0), "qx");
}

TEST(FollowTarget, ASoftmaxKnowsTheScaleOfItsCodes) {
  for (const std::string type : {"Softmax", "LogSoftmax"}) {
    Model model = model_of("a = " + type + R"( <axis = 0> (dx)
        qa = QuantizeLinear(a, t, u)
        y = DequantizeLinear(qa, t, u))");
    EXPECT_EQ(follow_target(model), 1U);
    const onnx::NodeProto& node = only(model, type);
    EXPECT_EQ(node.domain(), kDomain);
    EXPECT_EQ(node.output(0), "a");
    EXPECT_EQ(float_of(node, kScale), 0.5F);
    EXPECT_EQ(float_of(node, kStep), 0.25F);
    EXPECT_EQ(find_attribute(node, kAxis)->i(), 0);
  }
}

TEST(FollowTarget, ASoftmaxThatStaysFloatStays) {
  Model model = model_of(R"(
      y = Softmax(dx))");
  EXPECT_EQ(follow_target(model), 0U);
  EXPECT_EQ(only(model, "Softmax").domain(), "");
}

TEST(FollowTarget, WhatIsNotKnownStays) {
  Model model = model_of(R"(
      a = Tanh(dx)
      qa = QuantizeLinear(a, t, u)
      b = DequantizeLinear(qa, t, u)
      m = MatMul(b, dw)
      y = Relu(m))");
  const std::vector<std::string> before = types(model);
  EXPECT_EQ(follow_target(model), 0U);
  EXPECT_EQ(types(model), before);
}

}  // namespace
}  // namespace halfstep::simulation
