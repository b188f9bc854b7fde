#include "halfstep/engines/watched.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfstep {
namespace {

std::vector<float> collect(const WatchedValue& value) {
  std::vector<float> seen;
  for_each_stretch(value, [&](std::span<const float> stretch) {
    seen.insert(seen.end(), stretch.begin(), stretch.end());
  });
  return seen;
}

TEST(ForEachStretch, PlainTensorIsOneStretch) {
  const std::vector<float> data = {1, 2, 3};
  int stretches = 0;
  for_each_stretch({.data = data.data(), .count = 3, .shape = {3}},
                   [&](std::span<const float> stretch) {
                     ++stretches;
                     EXPECT_EQ(stretch.data(), data.data());
                     EXPECT_EQ(stretch.size(), 3U);
                   });
  EXPECT_EQ(stretches, 1);
}

TEST(ForEachStretch, PaddingIsLeftOut) {
  // Two images, 3 channels in blocks of 2, two positions; 9 is padding.
  const std::vector<float> data = {1, 2, 3, 4, 5, 9, 6, 9, 11, 12, 13, 14, 15, 9, 16, 9};
  const WatchedValue value{
      .data = data.data(), .count = 16, .shape = {2, 3, 1, 2}, .channel_block = 2, .padded = true};
  EXPECT_THAT(collect(value), testing::ElementsAre(1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16));
}

TEST(ForEachStretch, EmptyTensorsHaveNoValues) {
  const WatchedValue plain{.shape = {0, 3, 1, 2}};
  EXPECT_TRUE(collect(plain).empty());
  const WatchedValue padded{.shape = {0, 3, 1, 2}, .channel_block = 2, .padded = true};
  EXPECT_TRUE(collect(padded).empty());
}

}  // namespace
}  // namespace halfstep
