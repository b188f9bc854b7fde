#include "halfstep/outputs/qdq_onnx.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "tests/unit/outputs/graphs.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Lines = std::vector<std::string>;

constexpr const char* kMatMul = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[N, 2] x) => (float[N, 3] y)
  <float[2, 3] w = {1, 2, 3, -4, 5, 60}>
  { y = MatMul(x, w) })";

EncodingTable matmul_table() {
  EncodingTable table;
  table.set("x", uint8_encoding());
  table.set("w", int8_channels(1, {0.1F, 0.1F, 0.5F}));
  table.set("y", uint8_encoding(0.2F, 3));
  return table;
}

Diagnostics write(Model& model, const EncodingTable& table) {
  Diagnostics diagnostics;
  write_qdq(model, table, {}, diagnostics);
  return diagnostics;
}

std::string failure(const char* text, const EncodingTable& table) {
  Model model = model_from_text(text);
  try {
    (void)write(model, table);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(WriteQdq, PutsPairsBehindActivationsAndStoresWeightsAsIntegers) {
  Model model = model_from_text(kMatMul);
  EXPECT_TRUE(write(model, matmul_table()).empty()) << "opset 17 is enough";
  EXPECT_THAT(lines_of(model.graph()),
              ElementsAre("DequantizeLinear(w_quantized, w_scale, w_zero_point) -> w",
                          "QuantizeLinear(x, x_scale, x_zero_point) -> x_quantized",
                          "DequantizeLinear(x_quantized, x_scale, x_zero_point) -> x_dequantized",
                          "MatMul(x_dequantized, w) -> y_float",
                          "QuantizeLinear(y_float, y_scale, y_zero_point) -> y_quantized",
                          "DequantizeLinear(y_quantized, y_scale, y_zero_point) -> y"));
  EXPECT_EQ(type_of(model, "w"), "") << "the float weight is gone";
  EXPECT_EQ(type_of(model, "w_quantized"), "int8[2, 3]");
  EXPECT_EQ(type_of(model, "w_zero_point"), "int8[3]");
  EXPECT_EQ(type_of(model, "x_zero_point"), "uint8[]");
  EXPECT_EQ(values_of<std::int8_t>(model, "w_quantized"),
            (std::vector<std::int8_t>{10, 20, 6, -40, 50, 120}));
  EXPECT_EQ(int_attribute(node_writing(model, "w"), "axis", -9), 1);
  EXPECT_EQ(model.opset(), 17);
}

TEST(WriteQdq, NeverWritesTheAttributeOutputDtype) {
  Model model = model_from_text(kMatMul);
  EncodingTable table = matmul_table();
  table.set("x", {.dtype = Dtype::int16, .scale = {0.1F}, .zero_point = {0}});
  (void)write(model, table);
  for (const onnx::NodeProto& node : model.graph().node()) {
    EXPECT_EQ(find_attribute(node, "output_dtype"), nullptr);
  }
}

TEST(WriteQdq, RaisesTheOpsetAndSaysWhy) {
  Model model = model_from_text(kMatMul);
  EncodingTable table = matmul_table();
  table.set("x", {.dtype = Dtype::uint16, .scale = {0.1F}, .zero_point = {0}});
  const Diagnostics diagnostics = write(model, table);
  EXPECT_EQ(model.opset(), 21);
  EXPECT_GE(model.proto().ir_version(), 10);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].rule, "qdq/opset-raised");
  EXPECT_EQ(diagnostics[0].subject, "x");
  EXPECT_THAT(diagnostics[0].message, HasSubstr("uint16 needs opset 21"));
  EXPECT_EQ(type_of(model, "x_zero_point"), "uint16[]");
}

TEST(WriteQdq, PacksSmallTypes) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("w", {.dtype = Dtype::int4, .scale = {10.0F}});
  (void)write(model, table);
  EXPECT_EQ(type_of(model, "w_quantized"), "int4[2, 3]");
  EXPECT_EQ(values_of<std::uint8_t>(model, "w_quantized").size(), 3U);
  EXPECT_EQ(type_of(model, "w_zero_point"), "int4[]");
  EXPECT_EQ(values_of<std::uint8_t>(model, "w_zero_point").size(), 1U);
}

TEST(WriteQdq, StoresTypesThatOnnxLacksInWiderOnes) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("w", {.dtype = Dtype::int3, .scale = {1.0F}});
  (void)write(model, table);
  EXPECT_EQ(type_of(model, "w_quantized"), "int4[2, 3]");
  // 1, 2, 3 (clamped to the range of int3), -4; 3, 3
  EXPECT_EQ(values_of<std::uint8_t>(model, "w_quantized"),
            (std::vector<std::uint8_t>{0x21, 0xc3, 0x33}));
}

TEST(WriteQdq, WritesHalfStepsAsOddCodesOfHalfTheScale) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("w", {.dtype = Dtype::int2, .scale = {2.0F}, .zero_point = {0}, .half_step = true});
  (void)write(model, table);
  // Grid -3, -1, 1, 3 with scale 1; 2 lies in the middle and goes to the even step.
  EXPECT_EQ(values_of<std::uint8_t>(model, "w_quantized"),
            (std::vector<std::uint8_t>{0x11, 0xd3, 0x33}));
  EXPECT_EQ(values_of<float>(model, "w_scale"), std::vector<float>{1.0F});
}

TEST(WriteQdq, WritesBlocks) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("w", {.dtype = Dtype::int4,
                  .granularity = PerBlock{.axis = 0, .block_size = {1}},
                  .shape = {2, 3},
                  .scale = {1, 1, 1, 1, 1, 10}});
  (void)write(model, table);
  const onnx::NodeProto& node = node_writing(model, "w");
  EXPECT_EQ(int_attribute(node, "axis", -9), 0);
  EXPECT_EQ(int_attribute(node, "block_size", -9), 1);
  EXPECT_EQ(type_of(model, "w_scale"), "float32[2, 3]");
  EXPECT_EQ(type_of(model, "w_zero_point"), "int4[2, 3]");
}

TEST(WriteQdq, RepeatsBlockScalesOverTheKernel) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 2, 4, 4] x) => (float[1, 1, 4, 3] y)
    <float[1, 2, 1, 2] w = {1, 2, 3, 4}>
    { y = Conv(x, w) })");
  EncodingTable table;
  table.set("w", {.dtype = Dtype::int8,
                  .granularity = PerBlock{.axis = 1, .block_size = {1}},
                  .shape = {1, 2, 1, 1},
                  .scale = {1, 2}});
  (void)write(model, table);
  EXPECT_EQ(type_of(model, "w_scale"), "float32[1, 2, 1, 2]");
  EXPECT_EQ(values_of<float>(model, "w_scale"), (std::vector<float>{1, 1, 2, 2}));
}

TEST(WriteQdq, AReshapeKeepsTheEngineFromFusionsThatFail) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("x", uint8_encoding());
  table.set("w", {.dtype = Dtype::int2, .scale = {20.0F}});
  (void)write(model, table);
  EXPECT_EQ(node_writing(model, "w").op_type(), "Reshape");
  EXPECT_EQ(node_writing(model, "w_dequantized").op_type(), "DequantizeLinear");
  EXPECT_EQ(values_of<std::int64_t>(model, "w_shape"), (std::vector<std::int64_t>{2, 3}));
}

TEST(WriteQdq, AReshapeKeepsProductsOf16BitActivationsExact) {
  Model model = model_from_text(kMatMul);
  EncodingTable table = matmul_table();
  EXPECT_TRUE(write(model, table).empty());
  EXPECT_EQ(node_writing(model, "w").op_type(), "DequantizeLinear");
  model = model_from_text(kMatMul);
  table.set("x", {.dtype = Dtype::uint16, .scale = {0.1F}, .zero_point = {0}});
  (void)write(model, table);
  EXPECT_EQ(node_writing(model, "w").op_type(), "Reshape");
}

TEST(WriteQdq, LpbqDequantizesItsScale) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("w", {.dtype = Dtype::int4,
                  .granularity = Lpbq{.axis = 0, .block_size = 1, .channel_axis = 1},
                  .shape = {2, 3},
                  .scale = {0.5F, 1, 2},
                  .block_scale = {1, 2, 3, 4, 5, 16}});
  (void)write(model, table);
  EXPECT_THAT(
      lines_of(model.graph()),
      ElementsAre(
          "DequantizeLinear(w_block_scale, w_channel_scale, w_block_scale_zero_point) -> w_scale",
          "DequantizeLinear(w_quantized, w_scale, w_zero_point) -> w", "MatMul(x, w) -> y"));
  EXPECT_EQ(type_of(model, "w_block_scale"), "uint8[2, 3]");
  EXPECT_EQ(type_of(model, "w_channel_scale"), "float32[3]");
  EXPECT_EQ(int_attribute(node_writing(model, "w_scale"), "axis", -9), 1);
}

TEST(WriteQdq, SharesOnePairBetweenConsumers) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] a, float[2] b, float[2] h)
    { h = Relu(x) a = Add(h, h) b = Neg(h) })");
  EncodingTable table;
  table.set("h", uint8_encoding());
  (void)write(model, table);
  EXPECT_THAT(lines_of(model.graph()),
              ElementsAre("Relu(x) -> h_float",
                          "QuantizeLinear(h_float, h_scale, h_zero_point) -> h_quantized",
                          "DequantizeLinear(h_quantized, h_scale, h_zero_point) -> h",
                          "Add(h, h) -> a", "Neg(h) -> b"))
      << "an output that is also consumed: all see the dequantized values";
}

TEST(WriteQdq, GivesAUseItsOwnPairBehindTheTensors) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] a, float[2] b)
    { [first] a = Relu(x) [second] b = Neg(x) })");
  EncodingTable table;
  table.set("x", uint8_encoding(0.1F));
  table.set_use({.node = "second", .slot = 0}, uint8_encoding(0.5F));
  (void)write(model, table);
  EXPECT_THAT(
      lines_of(model.graph()),
      ElementsAre("QuantizeLinear(x, x_scale, x_zero_point) -> x_quantized",
                  "DequantizeLinear(x_quantized, x_scale, x_zero_point) -> x_dequantized",
                  "QuantizeLinear(x_dequantized, x_second_scale, x_second_zero_point) -> "
                  "x_second_quantized",
                  "DequantizeLinear(x_second_quantized, x_second_scale, x_second_zero_point) -> "
                  "x_second",
                  "Relu(x_dequantized) -> a", "Neg(x_second) -> b"));
}

TEST(WriteQdq, UsesAloneStartFromTheFloatTensor) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] a, float[2] b)
    { [first] a = Relu(x) [second] b = Neg(x) })");
  EncodingTable table;
  table.set_use({.node = "second", .slot = 0}, uint8_encoding(0.5F));
  (void)write(model, table);
  EXPECT_EQ(node_writing(model, "x_second_quantized").input(0), "x");
  EXPECT_EQ(node_writing(model, "a").input(0), "x");
}

TEST(WriteQdq, OneConstantWithTwoNeedsGetsACopyEach) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] a, float[2] b, float[2] c)
    <float[2] k = {1, 2}>
    { [one] a = Add(x, k) [two] b = Add(x, k) [three] c = Add(x, k) })");
  EncodingTable table;
  table.set("k", {.dtype = Dtype::int32, .scale = {0.5F}});
  table.set_use({.node = "two", .slot = 1}, {.dtype = Dtype::int32, .scale = {0.25F}});
  table.set_use({.node = "three", .slot = 1}, {.dtype = Dtype::float32});
  (void)write(model, table);
  EXPECT_EQ(values_of<std::int32_t>(model, "k_quantized"), (std::vector<std::int32_t>{2, 4}));
  EXPECT_EQ(values_of<std::int32_t>(model, "k_two_quantized"), (std::vector<std::int32_t>{4, 8}));
  EXPECT_EQ(node_writing(model, "a").input(1), "k");
  EXPECT_EQ(node_writing(model, "b").input(1), "k_two");
  EXPECT_EQ(node_writing(model, "c").input(1), "k_float");
  EXPECT_EQ(type_of(model, "k_float"), "float32[2]");
  EXPECT_EQ(type_of(model, "k_zero_point"), "int32[]");
}

TEST(WriteQdq, ReplacesConstantNodes) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] a)
    { k = Constant<value = float[2] {1, 2}>() a = Add(x, k) })");
  EncodingTable table;
  table.set("k", {.dtype = Dtype::int8, .scale = {0.5F}});
  (void)write(model, table);
  EXPECT_THAT(
      lines_of(model.graph()),
      ElementsAre("DequantizeLinear(k_quantized, k_scale, k_zero_point) -> k", "Add(x, k) -> a"));
}

TEST(WriteQdq, AWeightThatIsAlsoAnOutputStaysOne) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] a, float[2] k)
    <float[2] k = {1, 2}>
    { a = Add(x, k) })");
  EncodingTable table;
  table.set("k", {.dtype = Dtype::int8, .scale = {0.5F}});
  (void)write(model, table);
  EXPECT_EQ(node_writing(model, "k").op_type(), "DequantizeLinear");
  EXPECT_EQ(model.graph().output(1).name(), "k");
}

TEST(WriteQdq, AnInputThatIsAnOutputIsLeftAlone) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] a, float[2] x)
    { a = Relu(x) })");
  EncodingTable table;
  table.set("x", uint8_encoding());
  const Diagnostics diagnostics = write(model, table);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].rule, "qdq/input-is-output");
  EXPECT_EQ(node_writing(model, "a").input(0), "x_dequantized");
}

TEST(WriteQdq, AnOverridableWeightIsQuantizedWhenTheModelRuns) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float[2] k = {1, 2}) => (float[2] a)
    { a = Add(x, k) })");
  ASSERT_EQ(model.graph().input_size(), 2);
  EncodingTable table;
  table.set("k", {.dtype = Dtype::int8, .scale = {0.5F}});
  (void)write(model, table);
  EXPECT_EQ(model.graph().input_size(), 2);
  EXPECT_NE(find_initializer(model, "k"), nullptr);
  EXPECT_EQ(node_writing(model, "k_quantized").input(0), "k");
}

TEST(WriteQdq, SubgraphsSeeTheDequantizedTensor) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, bool c) => (float[2] a)
    <float[2] k = {1, 2}>
    {
      h = Relu(x)
      a = If(c) <
        then_branch = t () => (float[2] p) { p = Add(h, k) },
        else_branch = e () => (float[2] q) { h2 = Neg(h) q = Add(h2, k) }>
    })");
  EncodingTable table;
  table.set("h", uint8_encoding());
  table.set("k", {.dtype = Dtype::int8, .scale = {0.5F}});
  (void)write(model, table);
  const onnx::NodeProto& branch = node_writing(model, "a");
  EXPECT_EQ(branch.attribute(0).g().node(0).input(0), "h_dequantized");
  EXPECT_EQ(branch.attribute(1).g().node(0).input(0), "h_dequantized");
  EXPECT_EQ(branch.attribute(0).g().node(0).input(1), "k") << "the DequantizeLinear writes k";
  EXPECT_EQ(node_writing(model, "k").op_type(), "DequantizeLinear");
}

TEST(WriteQdq, NamesAreFresh) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y)
    { x_quantized = Relu(x) x_scale = Neg(x_quantized) y = Relu(x_scale) })");
  EncodingTable table;
  table.set("x", uint8_encoding());
  (void)write(model, table);
  std::set<std::string> names;
  for (const onnx::NodeProto& node : model.graph().node()) {
    EXPECT_TRUE(names.insert(node.output(0)).second) << node.output(0);
  }
  EXPECT_EQ(node_writing(model, "x_quantized").op_type(), "Relu");
}

TEST(WriteQdq, CastsAroundPairsInHalfPrecisionModels) {
  Model model = model_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float16[2] x) => (float16[2] y)
    { y = Relu(x) })");
  EncodingTable table;
  table.set("x", uint8_encoding());
  table.set("y", uint8_encoding());
  (void)write(model, table);
  EXPECT_THAT(
      lines_of(model.graph()),
      ElementsAre("Cast(x) -> x_float32",
                  "QuantizeLinear(x_float32, x_scale, x_zero_point) -> x_quantized",
                  "DequantizeLinear(x_quantized, x_scale, x_zero_point) -> x_dequantized_float32",
                  "Cast(x_dequantized_float32) -> x_dequantized", "Relu(x_dequantized) -> y_float",
                  "Cast(y_float) -> y_float32",
                  "QuantizeLinear(y_float32, y_scale, y_zero_point) -> y_quantized",
                  "DequantizeLinear(y_quantized, y_scale, y_zero_point) -> y_float32_1",
                  "Cast(y_float32_1) -> y"));
}

TEST(WriteQdq, WritesFloat8) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("x", {.dtype = Dtype::float8_e4m3fn, .scale = {0.1F}});
  table.set("w", {.dtype = Dtype::float8_e5m2, .scale = {1.0F}});
  (void)write(model, table);
  EXPECT_EQ(model.opset(), 19);
  EXPECT_EQ(type_of(model, "w_quantized"), "float8_e5m2[2, 3]");
  EXPECT_EQ(type_of(model, "x_zero_point"), "float8_e4m3fn[]");
}

Encoding fp4_blocks(std::vector<float> scale) {
  return {.dtype = Dtype::float4_e2m1fn_x2,
          .granularity = PerBlock{.axis = 0, .block_size = {2}},
          .shape = {1, 3},
          .scale = std::move(scale)};
}

TEST(WriteQdq, StoresPowersOfTwoOfFp4AsExponents) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("w", fp4_blocks({0.5F, 1.0F, 16.0F}));
  (void)write(model, table);
  EXPECT_EQ(type_of(model, "w_quantized"), "float4_e2m1fn_x2[2, 3]");
  EXPECT_EQ(type_of(model, "w_scale"), "float8_e8m0fnu[1, 3]");
  EXPECT_EQ(values_of<std::uint8_t>(model, "w_scale"), (std::vector<std::uint8_t>{126, 127, 131}));
  EXPECT_EQ(int_attribute(node_writing(model, "w"), "output_dtype", 0), onnx::TensorProto::FLOAT);
  EXPECT_EQ(model.opset(), 24);
  EXPECT_EQ(model.proto().ir_version(), 12);
}

TEST(WriteQdq, StoresOtherScalesOfFp4AsFloats) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("w", fp4_blocks({0.5F, 0.75F, 16.0F}));
  (void)write(model, table);
  EXPECT_EQ(type_of(model, "w_scale"), "float32[1, 3]");
  EXPECT_EQ(find_attribute(node_writing(model, "w"), "output_dtype"), nullptr);
  EXPECT_EQ(model.opset(), 23);
}

TEST(WriteQdq, DropsOldStyleInputsOfWeights) {
  Model model = model_from_text(R"(
    <ir_version: 3, opset_import: ["" : 10]>
    g (float[2] x, float[2] k = {1, 2}) => (float[2] a)
    { a = Add(x, k) })");
  EncodingTable table;
  table.set("k", {.dtype = Dtype::int8, .scale = {0.5F}});
  (void)write(model, table);
  EXPECT_GE(model.proto().ir_version(), 4);
  EXPECT_EQ(model.graph().input_size(), 1);
  EXPECT_EQ(node_writing(model, "k").op_type(), "DequantizeLinear");
}

TEST(WriteQdq, LeavesFloatEncodingsAlone) {
  Model model = model_from_text(kMatMul);
  EncodingTable table;
  table.set("x", {.dtype = Dtype::float32});
  (void)write(model, table);
  EXPECT_THAT(lines_of(model.graph()), ElementsAre("MatMul(x, w) -> y"));
  EXPECT_EQ(type_of(model, "w"), "float32[2, 3]");
}

TEST(WriteQdq, NamesWhatIsWrong) {
  EncodingTable table;
  table.set("ww", uint8_encoding());
  EXPECT_EQ(failure(kMatMul, table), "no tensor \"ww\" in the model; did you mean \"w\"?");
  table = {};
  table.set("w", int8_channels(1, {1, 2}));
  EXPECT_THAT(failure(kMatMul, table), HasSubstr("tensor \"w\": parameters of shape [2]"));
  table = {};
  table.set("x", {.dtype = Dtype::int32, .scale = {1.0F}});
  EXPECT_THAT(failure(kMatMul, table), HasSubstr("tensor \"x\": QuantizeLinear can't make"));
  table = {};
  table.set("x", {.dtype = Dtype::int8, .scale = {1.0F}, .minval = {0.0F}});
  EXPECT_THAT(failure(kMatMul, table), HasSubstr("tensor \"x\": ONNX can't say a minimum value"));
  table = {};
  table.set_use({.node = "nobody"}, uint8_encoding());
  EXPECT_THAT(failure(kMatMul, table), HasSubstr("no node \"nobody\""));
  table = {};
  table.set("i", uint8_encoding());
  EXPECT_THAT(failure(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (int64[1] i, int64[1] j) { i = Shape(x) j = Neg(i) })",
                      table),
              HasSubstr("only float tensors can be quantized (this one is INT64)"));
}

}  // namespace
}  // namespace halfstep
