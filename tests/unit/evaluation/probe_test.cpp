#include "halfstep/evaluation/probe.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace halfstep {
namespace {

Tensor floats(const std::vector<float>& values, Shape shape = {}) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  if (shape.empty()) {
    shape = {static_cast<std::int64_t>(values.size())};
  }
  return make_tensor(Dtype::float32, std::move(shape), std::move(bytes));
}

WatchedValue watched(const std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {.data = values.data(), .count = count, .shape = {count}};
}

TEST(ErrorPower, IsTheRatioInDecibels) {
  const ErrorPower power = error_power(floats({3, 4}), floats({3, 4.5F}));
  EXPECT_EQ(power.signal, 25);
  EXPECT_EQ(power.error, 0.25);
  EXPECT_DOUBLE_EQ(power.sqnr_db(), 20);
}

TEST(ErrorPower, EqualTensorsHaveNoError) {
  EXPECT_EQ(error_power(floats({1}), floats({1})).sqnr_db(),
            std::numeric_limits<double>::infinity());
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_power(floats({1, infinity}), floats({1, infinity})).error, 0);
}

TEST(ErrorPower, NanOnOneSideIsAnInfiniteErrorOnTheOtherNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_power(floats({1, 2}), floats({1, nan})).sqnr_db(),
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(error_power(floats({1, nan}), floats({1, 2})).error, 0);
}

TEST(ErrorPower, TakesOtherTypes) {
  std::vector<std::byte> bytes(4);
  const std::uint16_t one = 0x3C00;
  std::memcpy(&bytes[0], &one, 2);
  std::memcpy(&bytes[2], &one, 2);
  const Tensor halves = make_tensor(Dtype::float16, {2}, bytes);
  EXPECT_EQ(error_power(floats({1, 2}), halves).error, 1);
}

TEST(ErrorPower, ShapesMustAgree) {
  EXPECT_THROW(static_cast<void>(error_power(floats({1, 2}), floats({1, 2}, {2, 1}))), Error);
}

TEST(Probe, ComparesEveryValueOfSmallTensors) {
  Probe probe(2, 16);
  const std::vector<float> reference = {1, 2, 3};
  const std::vector<float> actual = {1, 2, 5};
  probe.remember(1, 0, watched(reference));
  probe.compare(1, 0, watched(actual));
  EXPECT_EQ(probe.errors()[1].signal, 14);
  EXPECT_EQ(probe.errors()[1].error, 4);
  EXPECT_EQ(probe.errors()[0].signal, 0);
}

TEST(Probe, AddsSamplesUp) {
  Probe probe(1);
  for (std::size_t sample = 0; sample < 3; ++sample) {
    probe.remember(0, sample, watched({static_cast<float>(sample)}));
  }
  for (std::size_t sample = 0; sample < 3; ++sample) {
    probe.compare(0, sample, watched({0}));
  }
  EXPECT_EQ(probe.errors()[0].error, 5);
}

TEST(Probe, LargeTensorsAreLookedAtInEvenlySpreadPlaces) {
  // Each value is its position: what is remembered shows where the probe looks.
  constexpr std::size_t kCount = 100000;
  std::vector<float> places(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    places[i] = static_cast<float>(i);
  }
  Probe probe(1, 1000);
  probe.remember(0, 0, watched(places));
  probe.compare(0, 0, watched(places));
  EXPECT_EQ(probe.errors()[0].error, 0);
  const double mean_square = probe.errors()[0].signal / 1000;
  EXPECT_NEAR(mean_square, 1e10 / 3, 1e10 / 3 * 0.01);
}

TEST(Probe, DoesNotDependOnTheLayout) {
  // 3 channels in blocks of 2, two positions; logical order is channel, position.
  const std::vector<float> plain = {1, 3, 2, 4, 5, 6};
  const std::vector<float> blocked = {1, 2, 3, 4, 5, 9, 6, 9};
  Probe probe(1, 4);
  probe.remember(0, 0, {.data = plain.data(), .count = 6, .shape = {1, 3, 1, 2}});
  probe.compare(0, 0,
                {.data = blocked.data(),
                 .count = 8,
                 .shape = {1, 3, 1, 2},
                 .channel_block = 2,
                 .padded = true});
  EXPECT_GT(probe.errors()[0].signal, 0);
  EXPECT_EQ(probe.errors()[0].error, 0);
}

TEST(Probe, RefusesWhatWasNotRemembered) {
  Probe probe(1);
  EXPECT_THROW(probe.compare(0, 0, watched({1})), Error);
  probe.remember(0, 0, watched({1, 2}));
  EXPECT_THROW(probe.compare(0, 0, watched({1})), Error);
}

}  // namespace
}  // namespace halfstep
