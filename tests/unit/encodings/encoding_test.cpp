#include "halfstep/encodings/encoding.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

Encoding per_tensor(Dtype dtype, float scale, std::int64_t zero_point) {
  return {.dtype = dtype, .scale = {scale}, .zero_point = {zero_point}};
}

Encoding per_channel(std::int64_t axis, std::size_t channels) {
  return {.dtype = Dtype::int8,
          .granularity = PerChannel{.axis = axis},
          .shape = {static_cast<std::int64_t>(channels)},
          .scale = std::vector<float>(channels, 0.5F)};
}

Encoding lpbq() {
  return {.dtype = Dtype::int4,
          .granularity = Lpbq{.axis = 1, .block_size = 2, .channel_axis = 0},
          .shape = {2, 3},
          .scale = {0.5F, 0.25F},
          .block_scale = {1, 2, 16, 3, 4, 5}};
}

std::string message_of(const Encoding& encoding, const Shape& shape) {
  try {
    validate(encoding, shape);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(Encoding, SymmetryIsReadFromTheZeroPoint) {
  EXPECT_TRUE(per_tensor(Dtype::int8, 1, 0).symmetric());
  EXPECT_FALSE(per_tensor(Dtype::int8, 1, 3).symmetric());
  EXPECT_TRUE(per_tensor(Dtype::uint8, 1, 128).symmetric());
  EXPECT_FALSE(per_tensor(Dtype::uint8, 1, 0).symmetric());
  EXPECT_TRUE(per_tensor(Dtype::uint32, 1, std::int64_t{1} << 31).symmetric());
  EXPECT_TRUE((Encoding{.dtype = Dtype::int4, .scale = {1.0F}}).symmetric());
  EXPECT_FALSE((Encoding{.dtype = Dtype::uint4, .scale = {1.0F}}).symmetric());
  EXPECT_FALSE((Encoding{.dtype = Dtype::int8, .scale = {1.0F}, .minval = {-1.0F}}).symmetric());
}

TEST(Encoding, NamesItsOrigin) {
  EXPECT_EQ(name(Origin::default_type), "default");
  EXPECT_EQ(name(Origin::override_file), "override file");
  EXPECT_EQ(name(Origin::adapted), "adapted");
}

TEST(Validate, AcceptsWhatFits) {
  EXPECT_EQ(message_of(per_tensor(Dtype::uint8, 0.1F, 255), {2, 3}), "");
  EXPECT_EQ(message_of(per_channel(1, 3), {2, 3}), "");
  EXPECT_EQ(message_of(per_channel(1, 3), {2, -1}), "") << "an unknown extent fits any count";
  EXPECT_EQ(message_of(lpbq(), {2, 6}), "");
  EXPECT_EQ(message_of({.dtype = Dtype::float16}, {2}), "");
  const Encoding conv{.dtype = Dtype::int4,
                      .granularity = PerBlock{.axis = 1, .block_size = {2}},
                      .shape = {2, 2, 1, 1},
                      .scale = {1, 2, 3, 4}};
  EXPECT_EQ(message_of(conv, {2, 4, 3, 3}), "");
}

TEST(Validate, NamesWhatDoesNotFit) {
  EXPECT_EQ(message_of(per_channel(1, 4), {2, 3}),
            "parameters of shape [4] do not fit a tensor of shape [2, 3]; expected one value per "
            "channel of axis 1, shape [3]");
  EXPECT_EQ(message_of(per_channel(2, 4), {2, 3}), "axis must lie in 0..1 of shape [2, 3] (got 2)");
  EXPECT_EQ(message_of(per_tensor(Dtype::uint8, 0.0F, 0), {}),
            "scale must be finite and > 0 (got 0.000000)");
  EXPECT_NE(message_of(per_tensor(Dtype::uint8, std::numeric_limits<float>::infinity(), 0), {}),
            "");
  EXPECT_NE(message_of(per_tensor(Dtype::uint8, std::nanf(""), 0), {}), "");
  EXPECT_EQ(message_of(per_tensor(Dtype::uint8, 1.0F, 256), {}),
            "zero point must lie in 0..255 of uint8 (got 256)");
  EXPECT_EQ(message_of(per_tensor(Dtype::float8_e4m3fn, 1.0F, 1), {}),
            "zero point must lie in 0..0 of float8_e4m3fn (got 1)");
  EXPECT_EQ(message_of({.dtype = Dtype::int8}, {}), "an encoding of type int8 needs a scale");
  Encoding wide = per_tensor(Dtype::int8, 1.0F, 0);
  wide.half_step = true;
  EXPECT_EQ(message_of(wide, {}),
            "only 2-bit types may have a zero point between two steps (type is int8)");
}

TEST(Validate, ChecksBlocks) {
  Encoding blocks{.dtype = Dtype::int4,
                  .granularity = PerBlock{.axis = 0, .block_size = {4}},
                  .shape = {2, 3},
                  .scale = std::vector<float>(6, 1.0F)};
  EXPECT_EQ(message_of(blocks, {8, 3}), "");
  EXPECT_EQ(message_of(blocks, {9, 3}),
            "block size 4 does not divide extent 9 of axis 0 of shape [9, 3]");
  EXPECT_NE(message_of(blocks, {8, 4}), "");
  Encoding tiles{.dtype = Dtype::int4,
                 .granularity = PerBlock{.block_size = {2, -1}},
                 .shape = {4, 1},
                 .scale = std::vector<float>(4, 1.0F)};
  EXPECT_EQ(message_of(tiles, {8, 3}), "");
  EXPECT_NE(message_of(tiles, {8}), "");
}

TEST(Validate, ChecksLpbqIntegers) {
  Encoding encoding = lpbq();
  encoding.block_scale[2] = 17;
  EXPECT_EQ(message_of(encoding, {2, 6}), "block scale[2] must lie in 1..16 (got 17)");
  encoding.block_scale[2] = 0;
  EXPECT_EQ(message_of(encoding, {2, 6}), "block scale[2] must lie in 1..16 (got 0)");
  encoding.block_scale.pop_back();
  EXPECT_EQ(message_of(encoding, {2, 6}), "block scale: expected 6 (got 5)");
}

}  // namespace
}  // namespace halfstep
