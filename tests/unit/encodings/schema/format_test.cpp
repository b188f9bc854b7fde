#include "halfstep/encodings/schema/format.h"

#include <gtest/gtest.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

const Producer kProducer{.package = "p", .version = "1"};

Json written(const NamedEncoding& tensor, EncodingsVersion version) {
  const std::vector<NamedEncoding> tensors{tensor};
  return parse_json(write_encodings_text(tensors, version, kProducer), "test");
}

Json entry(const NamedEncoding& tensor) {
  return written(tensor, EncodingsVersion::v2_0_0).at("encodings").at(0);
}

NamedEncoding weight(const Encoding& encoding, Shape shape, std::int64_t channel_axis,
                     std::int64_t block_axis) {
  return {.name = "w",
          .encoding = &encoding,
          .facts = {.shape = std::move(shape),
                    .parameter = true,
                    .channel_axis = channel_axis,
                    .block_axis = block_axis}};
}

std::string refusal(const NamedEncoding& tensor, EncodingsVersion version) {
  try {
    (void)written(tensor, version);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    return error.what();
  }
  return "";
}

const Encoding kBlocks{.dtype = Dtype::int4,
                       .granularity = PerBlock{.axis = 0, .block_size = {2}},
                       .shape = {2, 3},
                       .scale = {1, 2, 3, 4, 5, 6},
                       .zero_point = {0, 0, 0, 0, 0, 0}};
const Encoding kLpbq{.dtype = Dtype::int4,
                     .granularity = Lpbq{.axis = 0, .block_size = 2, .channel_axis = 1},
                     .shape = {2, 3},
                     .scale = {0.5F, 0.25F, 0.125F},
                     .block_scale = {1, 2, 3, 4, 5, 16}};

TEST(Formats, AreListedInOrderOfTheirEnumerators) {
  for (const EncodingsFormat& format : encodings_formats()) {
    EXPECT_EQ(&encodings_format(format.version), &format);
    EXPECT_EQ(parse_encodings_version(format.text), format.version);
  }
  EXPECT_THROW((void)parse_encodings_version("3.0.0"), Error);
}

TEST(Version200, WritesScalarsAndZeroPoints) {
  const Encoding act{.dtype = Dtype::uint8, .scale = {0.0125F}, .zero_point = {128}};
  EXPECT_EQ(
      entry({.name = "x", .encoding = &act}).dump(),
      R"({"name":"x","output_dtype":"uint8","y_scale":0.012500000186264515,"y_zero_point":128})");
  const Encoding zero{.dtype = Dtype::uint8, .scale = {1.0F}, .zero_point = {0}};
  EXPECT_FALSE(entry({.name = "x", .encoding = &zero}).contains("y_zero_point"));
}

TEST(Version200, WritesChannelsAndBlocks) {
  const Encoding channel{
      .dtype = Dtype::int8, .granularity = PerChannel{.axis = 1}, .shape = {2}, .scale = {1, 2}};
  EXPECT_EQ(entry(weight(channel, {3, 2}, 1, 0)).dump(),
            R"({"name":"w","output_dtype":"int8","y_scale":[1.0,2.0],"axis":1})");
  EXPECT_EQ(
      entry(weight(kBlocks, {4, 3}, 1, 0)).dump(),
      R"({"name":"w","output_dtype":"int4","y_scale":[[1.0,2.0,3.0],[4.0,5.0,6.0]],"axis":0,"block_size":2})");
}

TEST(Version200, WritesLpbqWithFullRankChannelScales) {
  EXPECT_EQ(
      entry(weight(kLpbq, {4, 3}, 1, 0)).dump(),
      R"({"name":"w","output_dtype":"int4","per_block_int_scale":[[1,2,3],[4,5,16]],"per_channel_float_scale":[[0.5,0.25,0.125]],"axis":0,"block_size":2})");
}

TEST(Version200, WritesHalfSteps) {
  const Encoding half{.dtype = Dtype::int2, .scale = {1.0F}, .zero_point = {0}, .half_step = true};
  EXPECT_EQ(entry({.name = "w", .encoding = &half}).at("y_zero_point"), -0.5);
}

TEST(Version200, LeavesFloatsOut) {
  const Encoding half{.dtype = Dtype::float16};
  const NamedEncoding tensor{.name = "x", .encoding = &half};
  EXPECT_TRUE(written(tensor, EncodingsVersion::v2_0_0).at("encodings").empty());
  EXPECT_EQ(written(tensor, EncodingsVersion::v1_0_0).at("activation_encodings").at(0).dump(),
            R"({"name":"x","dtype":"FLOAT","bw":16,"enc_type":"PER_TENSOR"})");
}

TEST(Version200, SaysWhoWroteIt) {
  const Json file = written(weight(kBlocks, {4, 3}, 1, 0), EncodingsVersion::v2_0_0);
  EXPECT_EQ(file.at("version"), "2.0.0");
  EXPECT_EQ(file.at("producer").at("package"), "p");
}

TEST(Version200, RefusesWhatItCantSay) {
  const Encoding minval{.dtype = Dtype::int8, .scale = {1.0F}, .minval = {-1.0F}};
  const std::string text = refusal({.name = "bad", .encoding = &minval}, EncodingsVersion::v2_0_0);
  EXPECT_NE(text.find("tensor \"bad\""), std::string::npos);
  const Encoding odd{.dtype = Dtype::int3, .scale = {1.0F}};
  EXPECT_NE(refusal({.name = "odd", .encoding = &odd}, EncodingsVersion::v2_0_0).find("int3"),
            std::string::npos);
  Encoding ratio = kLpbq;
  std::get<Lpbq>(ratio.granularity).decompressed_bits = 6;
  EXPECT_NE(refusal(weight(ratio, {4, 3}, 1, 0), EncodingsVersion::v2_0_0), "");
  EXPECT_EQ(refusal(weight(ratio, {4, 3}, 1, 0), EncodingsVersion::v1_0_0), "");
}

TEST(Version210, QuantizesTheScaleOfLpbq) {
  const Json file = written(weight(kLpbq, {4, 3}, 1, 0), EncodingsVersion::v2_1_0);
  EXPECT_EQ(
      file.at("encodings").at(0).dump(),
      R"({"name":"w","output_dtype":"int4","y_scale":{"x":[[1,2,3],[4,5,16]],"x_scale":[0.5,0.25,0.125],"axis":1},"axis":0,"block_size":2})");
}

TEST(Version100, CountsCodesFromZeroAndTransposesBlocks) {
  const Json blocks = written(weight(kBlocks, {4, 3}, 1, 0), EncodingsVersion::v1_0_0);
  EXPECT_EQ(
      blocks.at("param_encodings").at(0).dump(),
      R"({"name":"w","dtype":"INT","bw":4,"enc_type":"PER_BLOCK","is_sym":true,"scale":[1.0,4.0,2.0,5.0,3.0,6.0],"offset":[-8,-8,-8,-8,-8,-8],"block_size":2})");
  const Json lpbq = written(weight(kLpbq, {4, 3}, 1, 0), EncodingsVersion::v1_0_0);
  EXPECT_EQ(
      lpbq.at("param_encodings").at(0).dump(),
      R"({"name":"w","dtype":"INT","bw":8,"enc_type":"LPBQ","is_sym":true,"scale":[0.5,0.25,0.125],"offset":[-128,-128,-128],"block_size":2,"compressed_bw":4,"per_block_int_scale":[1,4,2,5,3,16]})");
  const Encoding half{.dtype = Dtype::int2, .scale = {1.0F}, .zero_point = {0}, .half_step = true};
  const Json shifted = written({.name = "h", .encoding = &half}, EncodingsVersion::v1_0_0);
  EXPECT_EQ(shifted.at("activation_encodings").at(0).at("offset").dump(), "[-2]");
  EXPECT_EQ(shifted.at("activation_encodings").at(0).at("zero_point_shift").dump(), "[0.5]");
}

TEST(Version100, RefusesAnAxisThatReadersWouldNotGuess) {
  EXPECT_NE(refusal(weight(kBlocks, {4, 3}, 0, 1), EncodingsVersion::v1_0_0).find("block axis"),
            std::string::npos);
}

TEST(Version061, ListsChannelsWithTheirRanges) {
  const Encoding act{.dtype = Dtype::uint8, .scale = {0.5F}, .zero_point = {10}};
  const Json file = written({.name = "x", .encoding = &act}, EncodingsVersion::v0_6_1);
  EXPECT_EQ(
      file.at("activation_encodings").at("x").dump(),
      R"([{"bitwidth":8,"dtype":"int","is_symmetric":"False","min":-5.0,"max":122.5,"scale":0.5,"offset":-10}])");
  EXPECT_NE(refusal(weight(kBlocks, {4, 3}, 1, 0), EncodingsVersion::v0_6_1), "");
}

}  // namespace
}  // namespace halfstep
