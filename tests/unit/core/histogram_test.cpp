#include "halfstep/core/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/core/kernels/isa.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using testing::ElementsAre;

/// Values of many magnitudes, with zeros of both signs, subnormals and bin edges.
std::vector<float> values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result;
  for (std::size_t i = 0; i < count; ++i) {
    switch (random() % 8) {
      case 0:
        result.push_back(random() % 2 == 0 ? 0.0F : -0.0F);
        break;
      case 1:
        result.push_back(std::ldexp(normal(random), -140));
        break;
      case 2:
        result.push_back(static_cast<float>(static_cast<int>(random() % 64) - 32));
        break;
      case 3:
        result.push_back(normal(random) * 100);
        break;
      default:
        result.push_back(normal(random));
    }
  }
  return result;
}

/// What the class promises, from all values at once.
std::map<std::int64_t, std::uint64_t> exact_counts(const std::vector<float>& all, int exponent) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (const float x : all) {
    ++counts[static_cast<std::int64_t>(std::floor(std::ldexp(static_cast<double>(x), -exponent)))];
  }
  return counts;
}

void expect_exact(const Histogram& histogram, const std::vector<float>& all) {
  const auto counts = exact_counts(all, histogram.exponent());
  EXPECT_EQ(histogram.total(), all.size());
  EXPECT_EQ(histogram.zeros(),
            static_cast<std::uint64_t>(std::count(all.begin(), all.end(), 0.0F)));
  EXPECT_EQ(histogram.min(), *std::min_element(all.begin(), all.end()));
  EXPECT_EQ(histogram.max(), *std::max_element(all.begin(), all.end()));
  EXPECT_EQ(histogram.first_bin(), counts.begin()->first);
  EXPECT_LE(histogram.counts().size(), histogram.limit());
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    const auto found = counts.find(histogram.first_bin() + static_cast<std::int64_t>(i));
    ASSERT_EQ(histogram.counts()[i], found == counts.end() ? 0 : found->second) << "bin " << i;
  }
}

TEST(Histogram, CountsExactlyOnEveryInstructionSet) {
  const std::vector<float> all = values(20011, 1);
  for (const auto isa :
       {kernels::Isa::reference, kernels::Isa::avx2, kernels::Isa::avx512, kernels::Isa::neon}) {
    const kernels::ForcedIsa forced(isa);
    Histogram histogram;
    histogram.add(all);
    expect_exact(histogram, all);
    EXPECT_GT(histogram.counts().size(), histogram.limit() / 2);
  }
}

TEST(Histogram, OrderAndBatchesDoNotMatter) {
  std::vector<float> all = values(5000, 2);
  Histogram whole;
  whole.add(all);
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::shuffle(all.begin(), all.end(), std::mt19937(seed));
    Histogram parts;
    std::mt19937 random(seed);
    for (std::size_t begin = 0; begin < all.size();) {
      const std::size_t size = std::min<std::size_t>(random() % 2000, all.size() - begin);
      parts.add(std::span(all).subspan(begin, size));
      begin += size;
    }
    EXPECT_EQ(parts, whole);
  }
}

TEST(Histogram, MergingInAnyOrderGivesTheWhole) {
  std::vector<float> all = values(3000, 3);
  std::sort(all.begin(), all.end());  // parts with very different ranges
  Histogram whole;
  whole.add(all);
  std::vector<Histogram> parts;
  for (std::size_t begin = 0; begin < all.size(); begin += 700) {
    Histogram part;
    part.add(std::span(all).subspan(begin, std::min<std::size_t>(700, all.size() - begin)));
    parts.push_back(part);
  }
  Histogram forward;
  Histogram backward;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    forward.merge(parts[i]);
    backward.merge(parts[parts.size() - 1 - i]);
  }
  EXPECT_EQ(forward, whole);
  EXPECT_EQ(backward, whole);
}

TEST(Histogram, OneValueAndExtremeValues) {
  Histogram histogram;
  histogram.add(std::vector<float>{5});
  EXPECT_THAT(histogram.counts(), ElementsAre(1));
  const float largest = std::numeric_limits<float>::max();
  histogram.add(std::vector<float>{-largest, largest, std::numeric_limits<float>::denorm_min()});
  expect_exact(histogram, {5, -largest, largest, std::numeric_limits<float>::denorm_min()});
  Histogram zeros;
  zeros.add(std::vector<float>{-0.0F, 0.0F});
  EXPECT_EQ(zeros.zeros(), 2U);
  EXPECT_FALSE(std::signbit(zeros.min()));
  EXPECT_TRUE(Histogram().empty());
}

TEST(Histogram, SavedCountsAreChecked) {
  Histogram histogram;
  histogram.add(values(100, 4));
  Histogram::State state{.min = histogram.min(),
                         .max = histogram.max(),
                         .zeros = histogram.zeros(),
                         .exponent = histogram.exponent(),
                         .first_bin = histogram.first_bin(),
                         .counts = histogram.counts()};
  EXPECT_EQ(Histogram::from_state(state), histogram);
  const auto refused = [&](auto change) {
    Histogram::State wrong = state;
    change(wrong);
    EXPECT_THROW(static_cast<void>(Histogram::from_state(wrong)), Error);
  };
  refused([](Histogram::State& s) { s.exponent += 1; });
  refused([](Histogram::State& s) { s.counts.pop_back(); });
  refused([](Histogram::State& s) { s.counts.back() = 0; });
  refused([](Histogram::State& s) { s.min = s.max + 1; });
  refused([](Histogram::State& s) { s.max = std::numeric_limits<float>::quiet_NaN(); });
  refused([](Histogram::State& s) { s.counts[0] = ~std::uint64_t{0}; });
}

TEST(Histogram, LimitsMustAgree) {
  Histogram small(16);
  EXPECT_THROW(small.merge(Histogram(32)), Error);
  EXPECT_THROW(Histogram(1), Error);
}

}  // namespace
}  // namespace halfstep
