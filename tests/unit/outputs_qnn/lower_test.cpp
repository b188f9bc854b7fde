#include "halfstep/outputs/qnn/lower.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/outputs/qnn/expand_blocks.h"
#include "halfstep/support/error.h"
#include "tests/unit/outputs_qnn/lowered.h"

namespace halfstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> types(const qnn::LoweredGraph& lowered) {
  std::vector<std::string> names;
  for (const qnn::Op& op : lowered.graph.ops) {
    names.push_back(op.type);
  }
  return names;
}

const qnn::Tensor& tensor(const qnn::LoweredGraph& lowered, const std::string& name) {
  const auto found = std::find_if(lowered.graph.tensors.begin(), lowered.graph.tensors.end(),
                                  [&name](const qnn::Tensor& each) { return each.name == name; });
  EXPECT_NE(found, lowered.graph.tensors.end()) << name;
  return *found;
}

constexpr const char* kConvNet = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] z)
  <float[3, 2, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}>
  { [conv] y = Conv(x, w, b) [relu] z = Relu(y) })";

TEST(Lower, AConvolutionBetweenBorders) {
  EncodingTable table;
  table.set("x", uint8_of(0.1F));
  table.set("z", uint8_of(0.5F));
  table.set("w", {.dtype = Dtype::int8,
                  .granularity = PerChannel{.axis = 0},
                  .shape = {3},
                  .scale = {0.25F, 0.5F, 1.0F}});
  const qnn::LoweredGraph result = lowered(kConvNet, table);
  EXPECT_EQ(qnn::graph_text(result),
            "Transpose conv_transpose (x) -> (x_nhwc) perm=[0, 2, 3, 1]\n"
            "Conv2d conv (x_nhwc, w, b) -> (y) stride=[1, 1] pad_amount=[0, 0, 0, 0] "
            "dilation=[1, 1] group=1 #0\n"
            "Relu relu (y) -> (z_nhwc) #0\n"
            "Transpose z_transpose (z_nhwc) -> (z) perm=[0, 3, 1, 2]\n"
            "x input ufixed8 [1, 2, 4, 4] scale 0.1\n"
            "x_nhwc inner ufixed8 [1, 4, 4, 2] scale 0.1\n"
            "w constant sfixed8 [1, 1, 2, 3] scale 3 of 0.25..1 axis 3\n"
            "b constant sfixed32 [3] scale 3 of 0.025..0.1 axis 0\n"
            "y inner ufixed8 [1, 4, 4, 3] scale 0.5\n"
            "z_nhwc inner ufixed8 [1, 4, 4, 3] scale 0.5\n"
            "z output ufixed8 [1, 3, 4, 4] scale 0.5\n");
  EXPECT_THAT(result.places.at("y").layout, ElementsAre(0, 2, 3, 1));
  EXPECT_EQ(result.places.at("z").name, "z");
  EXPECT_THAT(result.places.at("z").layout, ElementsAre(0, 1, 2, 3));
}

TEST(Lower, WeightsAreInTheOrderOfTheOperator) {
  const qnn::LoweredGraph result = lowered(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] z)
    <float[2, 2, 1, 1] w = {1, 2, 3, 4}> { z = Conv(x, w) })");
  const qnn::Tensor& w = tensor(result, "w");
  EXPECT_EQ(w.type, qnn::DataType::float16);
  // 1, 3, 2, 4 in float16
  const std::vector<std::byte> expected{std::byte{0x00}, std::byte{0x3c}, std::byte{0x00},
                                        std::byte{0x42}, std::byte{0x00}, std::byte{0x40},
                                        std::byte{0x00}, std::byte{0x44}};
  EXPECT_EQ(w.data, expected);
}

TEST(Lower, TheLayoutTravelsThroughElementWiseOperators) {
  EXPECT_THAT(types(lowered(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 2, 4, 4] x) => (float[1, 10] y)
    <float[2, 2, 1, 1] w = {1, 2, 3, 4}, float[2, 1, 1] s = {1, 2}, int64[2] axes = {2, 3},
     int64[8] pads = {0, 0, 1, 1, 0, 0, 0, 0}, float[4, 10] f = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}>
    { a = Conv(x, w) b = Mul(a, s) c = Pad(b, pads) d = Conv(c, w) e = Concat<axis = 1>(d, c)
      m = GlobalAveragePool(e) r = Flatten(m) y = Gemm(r, f) })")),
              ElementsAre("Transpose", "Conv2d", "ElementWiseMultiply", "Pad", "Conv2d", "Concat",
                          "PoolAvg2d", "Reshape", "FullyConnected"));
}

TEST(Lower, AModelThatIsChannelsLastNeedsNoTranspose) {
  EXPECT_THAT(types(lowered(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 4, 4, 2] x) => (float[1, 4, 4, 2] y)
    <float[2, 2, 1, 1] w = {1, 2, 3, 4}>
    { a = Transpose<perm = [0, 3, 1, 2]>(x) b = Conv(a, w) c = Relu(b)
      y = Transpose<perm = [0, 2, 3, 1]>(c) })")),
              ElementsAre("Conv2d", "Relu", "Reshape"));
}

TEST(Lower, AConvolutionOverOneAxisIsAnImageOfHeightOne) {
  const qnn::LoweredGraph result = lowered(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 2, 8] x) => (float[1, 2, 3] y)
    <float[2, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}>
    { a = Conv(x, w) b = Relu(a) y = MaxPool<kernel_shape = [3], strides = [2]>(b) })");
  EXPECT_THAT(types(result), ElementsAre("Transpose", "Reshape", "Conv2d", "Relu", "PoolMax2d",
                                         "Reshape", "Transpose"));
  EXPECT_THAT(tensor(result, "a").dims, ElementsAre(1, 1, 7, 2));
  EXPECT_THAT(tensor(result, "y").dims, ElementsAre(1, 2, 3));
}

TEST(Lower, ExtentsComputedInTheGraphAreNotLowered) {
  EXPECT_THAT(types(lowered(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 6] x) => (float[3, 4] y)
    <int64[1] n = {3}, int64[1] m = {4}>
    { s = Concat<axis = 0>(n, m) a = Relu(x) y = Reshape(a, s) })")),
              ElementsAre("Relu", "Reshape"));
}

TEST(Lower, SaysAllThatItCanNotWrite) {
  try {
    (void)lowered(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y, float[1, 2, 4, 4] z)
      <int64[8] pads = {0, 0, -1, 0, 0, 0, 1, 0}>
      { [pad] y = Pad(x, pads) [pool] z = MaxPool<kernel_shape = [2, 2], dilations = [2, 2], pads = [1, 1, 1, 1]>(x) })");
    FAIL() << "lowered";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("2 parts"));
    EXPECT_THAT(error.what(), HasSubstr("Pad 'pad': it has negative pads"));
    EXPECT_THAT(error.what(), HasSubstr("MaxPool 'pool': it is dilated"));
  }
}

TEST(Lower, RefusesUnknownExtents) {
  EXPECT_THROW((void)lowered(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 6] x) => (float[n, 6] y) { y = Relu(x) })"),
               Error);
}

TEST(Lower, ConvertsByTheTypesOnEitherSide) {
  EncodingTable table;
  table.set("x", uint8_of(0.1F));
  table.set("a", {.dtype = Dtype::uint16, .scale = {0.001F}, .zero_point = {0}});
  table.set("y", {.dtype = Dtype::float16, .scale = {}});
  const qnn::LoweredGraph result = lowered(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 6] x) => (float[2, 6] y) { a = Neg(x) y = Relu(a) })",
                                           table);
  EXPECT_THAT(types(result), testing::Contains("Dequantize"));
}

TEST(Lower, AProductWithBiasOfManyAxesIsAConvolution) {
  EncodingTable table;
  table.set("x", uint8_of(0.1F));
  table.set("y", uint8_of(0.5F));
  table.set("w", {.dtype = Dtype::int8,
                  .granularity = PerChannel{.axis = 1},
                  .shape = {2},
                  .scale = {0.25F, 0.5F}});
  const qnn::LoweredGraph result = lowered(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 3, 4] x) => (float[1, 3, 2] y)
    <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {1, 2}>
    { m = MatMul(x, w) y = Add(m, b) })",
                                           table);
  EXPECT_THAT(types(result), ElementsAre("Reshape", "Conv2d", "Reshape"));
  EXPECT_THAT(tensor(result, "w").dims, ElementsAre(1, 1, 4, 2));
  EXPECT_EQ(tensor(result, "w").quantization.axis, 3);
}

TEST(ExpandBlocks, KeepsTheValues) {
  // 2 channels, blocks of 2: codes 1..8, block scales 1, 2 and 16, 3.
  Encoding encoding{.dtype = Dtype::int4,
                    .granularity = Lpbq{.axis = 1, .block_size = 2, .channel_axis = 0},
                    .shape = {2, 2},
                    .scale = {0.5F, 0.25F},
                    .block_scale = {1, 2, 16, 3}};
  std::vector<std::byte> codes;
  for (const int code : {1, -2, 3, 4, 5, 6, 7, -8}) {
    codes.push_back(static_cast<std::byte>(code));
  }
  qnn::expand_blocks(encoding, codes, {2, 4});
  std::vector<int> expanded;
  for (const std::byte code : codes) {
    expanded.push_back(static_cast<std::int8_t>(code));
  }
  EXPECT_THAT(expanded, ElementsAre(1, -2, 6, 8, 80, 96, 21, -24));
  EXPECT_EQ(encoding.dtype, Dtype::int8);
  EXPECT_EQ(encoding.scale, (std::vector<float>{0.5F, 0.25F}));
}

TEST(ExpandBlocks, OnlyWhereTheBackendMisreadsThem) {
  const Encoding encoding{.dtype = Dtype::int4,
                          .granularity = Lpbq{.axis = 1, .block_size = 16, .channel_axis = 0}};
  EXPECT_TRUE(qnn::is_misread_in_blocks(encoding, {64, 48}));
  EXPECT_FALSE(qnn::is_misread_in_blocks(encoding, {64, 64}));
  EXPECT_FALSE(qnn::is_misread_in_blocks(encoding, {32, 48}));
  EXPECT_FALSE(qnn::is_misread_in_blocks({.dtype = Dtype::int8}, {64, 48}));
}

}  // namespace
}  // namespace halfstep
