#include "halfstep/outputs/qnn/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfstep::qnn {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(Layout, ChannelsLastHasTheBatchFirst) {
  EXPECT_THAT(channels_last(4), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(channels_last(5), ElementsAre(0, 2, 3, 4, 1));
  EXPECT_THAT(channels_last(3), ElementsAre(0, -1, 2, 1));
  EXPECT_THAT(channels_last(2), ElementsAre(0, 1));
}

TEST(Layout, TwoAxesAreNeverChannelsLast) {
  EXPECT_TRUE(is_channels_last({0, 2, 3, 1}));
  EXPECT_TRUE(is_channels_last({0, -1, 2, 1}));
  EXPECT_FALSE(is_channels_last({0, 1}));
  EXPECT_FALSE(is_channels_last({0, 1, 2, 3}));
}

TEST(Layout, BytesMoveOnlyIfLongAxesDo) {
  EXPECT_EQ(memory_order({1, 8, 1, 1}, {0, 2, 3, 1}), memory_order({1, 8, 1, 1}, {0, 1, 2, 3}));
  EXPECT_NE(memory_order({1, 8, 2, 1}, {0, 2, 3, 1}), memory_order({1, 8, 2, 1}, {0, 1, 2, 3}));
}

TEST(Layout, ALowerRankGetsAxesInFront) {
  EXPECT_THAT(broadcast_layout({0, 2, 3, 1}, 4, 3), ElementsAre(-1, 1, 2, 0));
  EXPECT_THAT(broadcast_layout({0, 1, 2}, 3, 1), ElementsAre(-1, -1, 0));
}

TEST(ReshapedLayout, SpatialAxesMerge) {
  // NHWC bytes of [1, 8, 2, 3] as [1, 8, 6] are [1, 6, 8].
  const auto layout = reshaped_layout({0, 2, 3, 1}, {1, 8, 2, 3}, {1, 8, 6});
  ASSERT_TRUE(layout);
  EXPECT_EQ(memory_order({1, 8, 6}, *layout), (std::vector<int>{2, 1}));
}

TEST(ReshapedLayout, ChannelsMergedWithPixelsMove) {
  EXPECT_FALSE(reshaped_layout({0, 2, 3, 1}, {2, 8, 2, 3}, {2, 48}));
}

TEST(ReshapedLayout, AxesOfOneValueDoNotMatter) {
  EXPECT_THAT(reshaped_layout({0, 2, 3, 1}, {1, 8, 1, 1}, {1, 8}), Optional(ElementsAre(0, 1)));
  EXPECT_THAT(reshaped_layout({0, 1}, {3, 8}, {3, 8, 1, 1}), Optional(ElementsAre(0, 1, 2, 3)));
}

TEST(ReshapedLayout, SplitGroupsStayTogether) {
  const auto layout = reshaped_layout({0, 2, 3, 1}, {1, 8, 2, 3}, {1, 2, 4, 2, 3});
  ASSERT_TRUE(layout);
  EXPECT_EQ(memory_order({1, 2, 4, 2, 3}, *layout), (std::vector<int>{3, 4, 1, 2}));
}

TEST(TransposedLayout, LeavesTheBytes) {
  EXPECT_THAT(transposed_layout({0, 1, 2, 3}, {0, 3, 1, 2}), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(transposed_layout({0, 2, 3, 1}, {0, 2, 3, 1}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(transposed_layout({0, -1, 2, 1}, {0, 2, 1}), ElementsAre(0, -1, 1, 2));
}

}  // namespace
}  // namespace halfstep::qnn
