#include "halfstep/core/minifloat.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace halfstep {
namespace {

TEST(Minifloat, EveryCodeComesBack) {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    if (!std::isnan(e4m3fn_to_float(byte))) {
      EXPECT_EQ(float_to_e4m3fn(e4m3fn_to_float(byte)), byte);
    }
    if (!std::isnan(e5m2_to_float(byte))) {
      EXPECT_EQ(float_to_e5m2(e5m2_to_float(byte)), byte);
    }
    EXPECT_EQ(float_to_e2m1(e2m1_to_float(byte)), byte & 0xf);
    EXPECT_EQ(float_to_e8m0(e8m0_to_float(byte)), byte);
  }
}

TEST(Minifloat, ScaleModes) {
  const Dtype fp4 = Dtype::float4_e2m1fn_x2;
  EXPECT_EQ(e8m0_scale(6.5F, fp4, E8m0Mode::floor), 1.0F);
  EXPECT_EQ(e8m0_scale(6.5F, fp4, E8m0Mode::ceil), 2.0F);
  EXPECT_EQ(e8m0_scale(4.0F, fp4, E8m0Mode::ceil), 1.0F);
  EXPECT_EQ(e8m0_scale(6.0F, fp4, E8m0Mode::fit), 1.0F);
  EXPECT_EQ(e8m0_scale(6.01F, fp4, E8m0Mode::fit), 2.0F);
  EXPECT_EQ(e8m0_scale(6.9F, fp4, E8m0Mode::even), 1.0F);
  EXPECT_EQ(e8m0_scale(7.0F, fp4, E8m0Mode::even), 2.0F);
  EXPECT_EQ(e8m0_scale(448.0F, Dtype::float8_e4m3fn, E8m0Mode::fit), 1.0F);
  EXPECT_EQ(e8m0_scale(127.0F, Dtype::int8, E8m0Mode::fit), 1.0F);
}

TEST(Minifloat, ScalesOfExtremes) {
  for (const E8m0Mode mode : {E8m0Mode::floor, E8m0Mode::ceil, E8m0Mode::fit, E8m0Mode::even}) {
    const Dtype fp4 = Dtype::float4_e2m1fn_x2;
    EXPECT_EQ(e8m0_scale(0.0F, fp4, mode), 0x1p-126F);
    EXPECT_EQ(e8m0_scale(1e-40F, fp4, mode), 0x1p-126F);
    EXPECT_EQ(e8m0_scale(std::numeric_limits<float>::infinity(), fp4, mode), 0x1p126F);
    EXPECT_EQ(e8m0_scale(std::numeric_limits<float>::quiet_NaN(), fp4, mode), 0x1p126F);
  }
}

TEST(Minifloat, ModesAgreeOnPowersOfTwoWithinTheType) {
  for (int exponent = -60; exponent < 60; ++exponent) {
    const float value = std::ldexp(1.0F, exponent);
    for (const E8m0Mode mode : {E8m0Mode::ceil, E8m0Mode::fit, E8m0Mode::even}) {
      EXPECT_EQ(e8m0_scale(value, Dtype::float8_e4m3fn, mode),
                e8m0_scale(value, Dtype::float8_e4m3fn, E8m0Mode::floor));
    }
  }
}

}  // namespace
}  // namespace halfstep
