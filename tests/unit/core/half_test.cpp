#include "halfstep/core/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace halfstep {
namespace {

TEST(Half, EveryFloat16ComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(to_float16(value))));
    } else {
      EXPECT_EQ(to_float16(value).bits, half.bits);
    }
  }
}

TEST(Half, MiddlesGoToTheEvenNeighbour) {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = to_float(Float16{static_cast<std::uint16_t>(bits)});
    const float high = to_float(Float16{static_cast<std::uint16_t>(bits + 1)});
    const float middle = low + (high - low) / 2;
    EXPECT_EQ(to_float16(middle).bits, bits + (bits & 1U));
    EXPECT_EQ(to_float16(std::nextafter(middle, high)).bits, bits + 1);
    EXPECT_EQ(to_float16(std::nextafter(middle, low)).bits, bits);
  }
}

TEST(Half, Float16Overflows) {
  EXPECT_EQ(to_float16(65519.0F).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(to_float16(-std::numeric_limits<float>::max()).bits, 0xfc00);
}

TEST(Half, BFloat16RoundsToEven) {
  EXPECT_EQ(to_bfloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(0x1.01p0F).bits, 0x3f80);
  EXPECT_EQ(to_bfloat16(0x1.03p0F).bits, 0x3f82);
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace halfstep
