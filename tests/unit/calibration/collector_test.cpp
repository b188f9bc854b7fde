#include "halfstep/calibration/collector.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kMask = std::numeric_limits<float>::lowest();

ObservedTensor observed(const std::string& calculator = "global_minmax",
                        const std::string& range = "minmax") {
  const QuantizationSpec spec{.dtype = Dtype::uint8,
                              .qscheme = Scheme::asymmetric,
                              .qparam_calculator_cls = calculator,
                              .range_calculator_cls = range,
                              .averaging_constant = 0.5,
                              .policy = Policy::safe};
  return {.name = "t", .spec = resolve(spec, Role::activation)};
}

void add(Collector& collector, const std::vector<float>& values, Shape shape,
         std::int64_t samples = 1) {
  collector.add({.data = values.data(),
                 .count = static_cast<std::int64_t>(values.size()),
                 .shape = std::move(shape)},
                samples, "sample 7");
}

TEST(Collector, BatchesCountAsTheirSamples) {
  for (const char* const calculator : {"moving_average", "global_minmax"}) {
    const ObservedTensor tensor = observed(calculator);
    Collector together(tensor);
    add(together, {1, 2, 5, 3, 9, 4}, {3, 2}, 3);
    Collector single(tensor);
    add(single, {1, 2}, {1, 2});
    add(single, {5, 3}, {1, 2});
    add(single, {9, 4}, {1, 2});
    EXPECT_EQ(together.statistics().range.max, single.statistics().range.max);
    EXPECT_EQ(together.statistics().highest, single.statistics().highest);
    EXPECT_EQ(together.statistics().lowest, single.statistics().lowest);
  }
}

TEST(Collector, MasksAreLeftOutAndNamed) {
  for (const float mask : {kMask, -kInfinity, -3.3e38F}) {
    for (const char* const range : {"minmax", "percentile"}) {
      const ObservedTensor tensor = observed("global_minmax", range);
      Collector collector(tensor);
      add(collector, {mask, -2, 3, mask}, {1, 4});
      const TensorStatistics found = collector.statistics();
      EXPECT_NEAR(found.range.min[0], -2, 0.001);
      EXPECT_NEAR(found.range.max[0], 3, 0.001);
      Diagnostics diagnostics;
      collector.report(diagnostics);
      ASSERT_EQ(diagnostics.size(), 1U);
      EXPECT_EQ(diagnostics[0].rule, "calibration/mask");
      EXPECT_EQ(diagnostics[0].subject, "t");
      EXPECT_THAT(diagnostics[0].message, HasSubstr("2 mask values among 4 values"));
      EXPECT_THAT(diagnostics[0].message, HasSubstr("first in sample 7"));
    }
  }
}

TEST(Collector, AMaskAloneKeepsItsMeaning) {
  for (const char* const calculator : {"global_minmax", "moving_average"}) {
    const ObservedTensor tensor = observed(calculator);
    Collector collector(tensor);
    add(collector, {kMask, 0, 0, -kInfinity}, {1, 4});
    EXPECT_THAT(collector.statistics().range.min, ElementsAre(-100)) << calculator;
    EXPECT_THAT(collector.statistics().range.max, ElementsAre(0));
  }
}

TEST(Collector, ConstantsThatHoldMasksKeepTheirMeaning) {
  const std::vector<float> mask = {-kInfinity, 0};
  EXPECT_THAT(range_beside_masks(mask)->min, ElementsAre(-100));
  const std::vector<float> mixed = {kMask, -2, 3};
  EXPECT_THAT(range_beside_masks(mixed)->min, ElementsAre(-2));
  const std::vector<float> both = {-kInfinity, kInfinity};
  EXPECT_FALSE(range_beside_masks(both));
  const std::vector<float> plain = {1, 2};
  EXPECT_FALSE(range_beside_masks(plain));
}

TEST(Collector, OnlyMasksTellNothing) {
  const ObservedTensor tensor = observed();
  Collector collector(tensor);
  add(collector, {kMask, kMask}, {1, 2});
  Diagnostics diagnostics;
  collector.report(diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].severity, Severity::warning);
  EXPECT_THAT(diagnostics[0].message, HasSubstr("nothing is known"));
}

TEST(Collector, SearchingCalculatorsSeeAllValuesAsOneBatch) {
  const ObservedTensor tensor = observed("default", "percentile");
  Collector collector(tensor);
  add(collector, {0, 1}, {1, 2});
  add(collector, {0, 100}, {1, 2});
  EXPECT_GT(collector.statistics().range.max[0], 99);
}

TEST(Collector, NanAndPlusInfinityAreNoMasks) {
  const ObservedTensor tensor = observed();
  Collector collector(tensor);
  add(collector, {std::nanf(""), 1, kInfinity, -kInfinity}, {1, 4});
  Diagnostics diagnostics;
  collector.report(diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].rule, "calibration/non-finite");
  EXPECT_THAT(diagnostics[0].message, HasSubstr("1 NaN and 2 infinities among 4"));
}

TEST(Collector, ChannelsThatAreAlwaysZeroAreNamed) {
  ObservedTensor tensor = observed();
  tensor.channel_axis = 1;
  Collector collector(tensor);
  add(collector, {0, 0, 1, 0, 0, 0}, {1, 3, 2});
  add(collector, {0, 0, 0, 0, 0, 0}, {1, 3, 2});
  add(collector, {0, 0, 0, 0, 0, -2}, {1, 3, 2});
  EXPECT_THAT(collector.statistics().channels->inactive(), ElementsAre(0));
  Diagnostics diagnostics;
  collector.report(diagnostics);
  ASSERT_EQ(diagnostics.size(), 1U);
  EXPECT_EQ(diagnostics[0].rule, "calibration/inactive-channels");
  EXPECT_THAT(diagnostics[0].message, HasSubstr("1 of 3 channels were 0 in every sample: 0"));
  add(collector, {0, 0}, {1, 1, 2});  // another number of channels: nothing is known
  EXPECT_THAT(collector.statistics().channels->inactive(), IsEmpty());
}

TEST(Collector, BlockedChannelsAreFoundToo) {
  ObservedTensor tensor = observed();
  tensor.channel_axis = 1;
  Collector collector(tensor);
  // [1, 5 channels in blocks of 4, 1, 2]: channels 1 and 4 hold values.
  std::vector<float> values(2 * 2 * 4, 0.0F);
  values[1] = 3;
  values[8 + 4] = 2;
  collector.add({.data = values.data(),
                 .count = 16,
                 .shape = {1, 5, 1, 2},
                 .channel_block = 4,
                 .padded = true},
                1, "s");
  EXPECT_THAT(collector.statistics().channels->inactive(), ElementsAre(0, 2, 3));
}

TEST(Collector, TellsHowFarTheRangeMoved) {
  const ObservedTensor tensor = observed();
  Collector collector(tensor);
  add(collector, {0, 8}, {1, 2});
  EXPECT_FALSE(collector.statistics().moved);
  collector.mark();
  add(collector, {0, 10}, {1, 2});
  EXPECT_DOUBLE_EQ(*collector.statistics().moved, 0.2);
}

TEST(Collector, GoesOnFromEarlierStatistics) {
  for (const char* const calculator : {"moving_average", "global_minmax"}) {
    const ObservedTensor tensor =
        observed(calculator, calculator == std::string("global_minmax") ? "mse" : "minmax");
    Collector whole(tensor);
    add(whole, {1, 2}, {1, 2});
    Collector first(tensor);
    add(first, {1, 2}, {1, 2});
    const TensorStatistics half = first.statistics();
    Collector second(tensor, &half);
    add(whole, {5, 3}, {1, 2});
    add(second, {5, 3}, {1, 2});
    EXPECT_EQ(second.statistics().range.max, whole.statistics().range.max);
    EXPECT_EQ(second.statistics().histogram, whole.statistics().histogram);
  }
}

TEST(SampleExtremes, ExpectTheMovementOfALastTenth) {
  SampleExtremes extremes;
  EXPECT_EQ(extremes.expected_movement(), 0);
  extremes.add(5);
  EXPECT_EQ(extremes.expected_movement(), 0);
  extremes.add(9);
  EXPECT_DOUBLE_EQ(extremes.expected_movement(), 0.1 * 4);
  extremes.add(8);
  EXPECT_DOUBLE_EQ(extremes.expected_movement(), 0.1 * 1 + 0.01 * 3);
}

}  // namespace
}  // namespace halfstep
