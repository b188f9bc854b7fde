#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/encodings/encoding.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

std::vector<float> fake_quantized(const Encoding& encoding, std::vector<float> values,
                                  const Shape& shape) {
  std::vector<float> result(values.size());
  fake_quantize({values.data(), shape}, bind(encoding, shape, Role::weight),
                {result.data(), shape});
  return result;
}

TEST(Bind, PerTensorUsesScaleAndZeroPoint) {
  const Encoding encoding{.dtype = Dtype::uint8, .scale = {0.5F}, .zero_point = {10}};
  EXPECT_EQ(fake_quantized(encoding, {-100, -5, 0.3F, 200}, {4}),
            (std::vector<float>{-5, -5, 0.5F, 122.5F}));
}

TEST(Bind, PerChannelFollowsTheAxis) {
  const Encoding encoding{.dtype = Dtype::int8,
                          .granularity = PerChannel{.axis = 1},
                          .shape = {2},
                          .scale = {1.0F, 10.0F}};
  EXPECT_EQ(fake_quantized(encoding, {1.2F, 12, 2.6F, 26}, {2, 2}),
            (std::vector<float>{1, 10, 3, 30}));
}

TEST(Bind, BlocksHaveTheSameGridInEveryRole) {
  const Encoding encoding{.dtype = Dtype::int4,
                          .granularity = PerBlock{.axis = 1, .block_size = {2}},
                          .shape = {1, 2, 1},
                          .scale = {1.0F, 10.0F}};
  const Shape shape{1, 4, 2};
  EXPECT_EQ(bind(encoding, shape, Role::weight).grid, bind(encoding, shape, Role::activation).grid);
  EXPECT_EQ(fake_quantized(encoding, {1.4F, 1, 1, 1, 14, 10, 10, 10}, shape),
            (std::vector<float>{1, 1, 1, 1, 10, 10, 10, 10}));
}

TEST(Bind, LpbqMultipliesBlockAndChannelScales) {
  const Encoding encoding{.dtype = Dtype::int4,
                          .granularity = Lpbq{.axis = 1, .block_size = 1, .channel_axis = 0},
                          .shape = {2, 2},
                          .scale = {1.0F, 10.0F},
                          .block_scale = {1, 2, 3, 4}};
  const Mapping mapping = bind(encoding, {2, 2}, Role::weight);
  EXPECT_EQ(mapping.qparams.scale, (std::vector<float>{1, 2, 30, 40}));
  EXPECT_EQ(encoding_of(mapping, Origin::model).scale, encoding.scale);
  EXPECT_EQ(encoding_of(mapping, Origin::model).block_scale, encoding.block_scale);
}

TEST(Bind, HalfStepsMakeAGridWithoutZero) {
  const Encoding encoding{
      .dtype = Dtype::int2, .scale = {2.0F}, .zero_point = {0}, .half_step = true};
  EXPECT_EQ(fake_quantized(encoding, {-9, -0.5F, 0.5F, 9}, {4}),
            (std::vector<float>{-3, -1, 1, 3}));
}

TEST(Bind, Uint32IsInt32MovedByHalfTheRange) {
  const Encoding encoding{
      .dtype = Dtype::uint32, .scale = {0.5F}, .zero_point = {std::int64_t{1} << 31}};
  EXPECT_EQ(bind(encoding, {2}, Role::weight).qparams.zero_point, (std::vector<std::int32_t>{0}));
  EXPECT_EQ(fake_quantized(encoding, {-7.2F, 8}, {2}), (std::vector<float>{-7, 8}));
}

TEST(Bind, RefusesFloatEncodings) {
  EXPECT_THROW((void)bind({.dtype = Dtype::float16}, {2}, Role::weight), Error);
}

TEST(EncodingOf, IsTheInverseOfBind) {
  const Encoding channel{.dtype = Dtype::int8,
                         .granularity = PerChannel{.axis = 0},
                         .shape = {3},
                         .scale = {1, 2, 3},
                         .zero_point = {0, 0, 0}};
  EXPECT_EQ(encoding_of(bind(channel, {3, 2}, Role::weight), Origin::calibrated), channel);
  const Encoding tensor{
      .dtype = Dtype::uint16, .scale = {0.25F}, .zero_point = {7}, .origin = Origin::adapted};
  EXPECT_EQ(encoding_of(bind(tensor, {3}, Role::activation), Origin::adapted), tensor);
}

TEST(EncodingOf, FillsInAxes) {
  const ResolvedSpec spec = resolve(
      {.dtype = Dtype::int4, .granularity = PerBlock{.axis = -1, .block_size = {2}}}, Role::weight);
  const std::vector<float> weight(8, 1.0F);
  const Encoding encoding = encoding_of(fit({weight.data(), {2, 4}}, spec), Origin::calibrated);
  EXPECT_EQ(encoding.granularity, Granularity(PerBlock{.axis = 1, .block_size = {2}}));
  EXPECT_EQ(encoding.shape, (Shape{2, 2}));
  EXPECT_EQ(encoding.scale.size(), 4U);
}

}  // namespace
}  // namespace halfstep
