#include "halfstep/frontends/qdq.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(const Model& model) {
  std::vector<std::string> lines;
  for (const onnx::NodeProto& node : model.graph().node()) {
    std::string line = node.op_type() + "(";
    for (int i = 0; i < node.input_size(); ++i) {
      line += (i == 0 ? "" : ", ") + node.input(i);
    }
    lines.push_back(line + ") -> " + node.output(0));
  }
  return lines;
}

std::vector<float> values_of(const Model& model, const std::string& name) {
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) {
      return model.floats(tensor);
    }
  }
  return {};
}

Model model_of(const std::string& inputs, const std::string& outputs,
               const std::string& initializers, const std::string& body) {
  return model_from_text("<ir_version: 10, opset_import: [\"\" : 21]> g (" + inputs + ") => (" +
                         outputs + ") <" + initializers + "> {" + body + "}");
}

const std::string kPair = R"(
  x_q = QuantizeLinear(x, s, z)
  x_d = DequantizeLinear(x_q, s, z))";
const std::string kParams = "float s = {0.5}, uint8 z = {3}";

TEST(ExtractQdq, PairsBecomeEncodingsOfTheirTensor) {
  Model model = model_of("float[2] x", "float[2] y", kParams, kPair + " [n] y = Relu(x_d)");
  Diagnostics diagnostics;
  const EncodingTable table = extract_qdq(model, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_THAT(lines_of(model), ElementsAre("Relu(x) -> y"));
  EXPECT_EQ(model.graph().initializer_size(), 0) << "scale and zero point are gone";
  ASSERT_NE(table.find("x"), nullptr);
  EXPECT_EQ(
      *table.find("x"),
      (Encoding{
          .dtype = Dtype::uint8, .scale = {0.5F}, .zero_point = {3}, .origin = Origin::model}));
}

TEST(ExtractQdq, StoredIntegersBecomeFloatConstants) {
  Model model = model_of("float[1, 2] x", "float[1, 2] y",
                         "int8[2, 2] wq = {1, 2, -3, 4}, float[2] s = {0.5, 2}, int8[2] z = {0, 1}",
                         "w = DequantizeLinear<axis = 1>(wq, s, z) y = MatMul(x, w)");
  Diagnostics diagnostics;
  const EncodingTable table = extract_qdq(model, diagnostics);
  EXPECT_THAT(lines_of(model), ElementsAre("MatMul(x, w) -> y"));
  EXPECT_EQ(values_of(model, "w"), (std::vector<float>{0.5F, 2, -1.5F, 6}));
  EXPECT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(table.find("w")->granularity, Granularity(PerChannel{.axis = 1}));
  EXPECT_EQ(table.find("w")->zero_point, (std::vector<std::int64_t>{0, 1}));
}

TEST(ExtractQdq, AQuantizedOutputGivesItsNameToTheTensor) {
  Model model = model_of("float[2] x", "float[2] y", kParams, R"(
      y_float = Relu(x)
      y_q = QuantizeLinear(y_float, s, z)
      y = DequantizeLinear(y_q, s, z))");
  Diagnostics diagnostics;
  const EncodingTable table = extract_qdq(model, diagnostics);
  EXPECT_THAT(lines_of(model), ElementsAre("Relu(x) -> y"));
  EXPECT_NE(table.find("y"), nullptr);
}

TEST(ExtractQdq, ConsumersThatDifferHaveEncodingsOfTheirOwn) {
  Model model = model_of("float[2] x", "float[2] a, float[2] b", kParams,
                         kPair + " [one] a = Relu(x_d) [two] b = Neg(x)");
  Diagnostics diagnostics;
  const EncodingTable table = extract_qdq(model, diagnostics);
  EXPECT_THAT(lines_of(model), ElementsAre("Relu(x) -> a", "Neg(x) -> b"));
  EXPECT_EQ(table.find("x"), nullptr);
  ASSERT_EQ(table.uses().size(), 1U);
  EXPECT_EQ(table.uses().begin()->first, (Use{.node = "one", .slot = 0}));
}

TEST(ExtractQdq, ReadsLpbq) {
  Model model = model_of("float[1, 2] x", "float[1, 2] y",
                         "int8[2, 2] wq = {1, 2, 3, 4}, int8[2, 2] z = {0, 0, 0, 0}, "
                         "uint8[2, 2] bs = {1, 2, 3, 16}, float[2] cs = {0.5, 2}, "
                         "uint8[2] bz = {0, 0}",
                         "s = DequantizeLinear<axis = 1>(bs, cs, bz) "
                         "w = DequantizeLinear<axis = 0, block_size = 1>(wq, s, z) "
                         "y = MatMul(x, w)");
  Diagnostics diagnostics;
  const EncodingTable table = extract_qdq(model, diagnostics);
  EXPECT_THAT(lines_of(model), ElementsAre("MatMul(x, w) -> y"));
  const Encoding& w = *table.find("w");
  EXPECT_EQ(w.block_scale, (std::vector<std::int32_t>{1, 2, 3, 16}));
  EXPECT_EQ(w.scale, (std::vector<float>{0.5F, 2}));
  EXPECT_EQ(values_of(model, "w"), (std::vector<float>{0.5F, 8, 4.5F, 128}));
}

TEST(ExtractQdq, WhatEncodingsCantSayStays) {
  Model model = model_of("float[2] x", "uint8[2] x_q", kParams, "x_q = QuantizeLinear(x, s, z)");
  Diagnostics diagnostics;
  EXPECT_TRUE(extract_qdq(model, diagnostics).empty());
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].rule, "qdq/kept");
  EXPECT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().initializer_size(), 2);
}

}  // namespace
}  // namespace halfstep
