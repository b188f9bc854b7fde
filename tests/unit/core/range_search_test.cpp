#include "halfstep/core/range_search.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/core/calculators.h"
#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using testing::HasSubstr;

ResolvedSpec spec_of(const std::string& method, Dtype dtype = Dtype::uint8,
                     Scheme scheme = Scheme::asymmetric, Json extra = Json::object()) {
  return resolve({.dtype = dtype,
                  .qscheme = scheme,
                  .qparam_calculator_cls = "global_minmax",
                  .range_calculator_cls = method,
                  .policy = Policy::safe,
                  .extra = std::move(extra)},
                 Role::activation);
}

std::vector<float> heavy_tailed(std::size_t count, unsigned seed, bool positive = false) {
  std::mt19937 random(seed);
  std::student_t_distribution<float> values(3);
  std::vector<float> result(count);
  for (float& x : result) {
    x = values(random);
    x = positive ? std::max(x, 0.0F) : x;
  }
  return result;
}

Histogram histogram_of(const std::vector<float>& values) {
  Histogram histogram;
  histogram.add(values);
  return histogram;
}

/// numpy.percentile, from the sorted values.
double exact_percentile(std::vector<float> values, double percent) {
  std::sort(values.begin(), values.end());
  const double at = static_cast<double>(values.size() - 1) * percent / 100;
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] +
         (static_cast<double>(values[above]) - values[below]) * (at - std::floor(at));
}

/// The sum that the documentation of `entropy` describes, bin by bin.
double exact_threshold(const std::vector<float>& values, double width, std::size_t groups) {
  std::vector<double> counts;
  for (const float x : values) {
    if (x != 0) {
      const double bin = std::floor(x / width);
      const auto at = static_cast<std::size_t>(bin < 0 ? -bin - 1 : bin);
      counts.resize(std::max(counts.size(), at + 1));
      counts[at] += 1;
    }
  }
  double least = 0;
  std::size_t best = 0;
  for (std::size_t bins = counts.size(); bins >= groups; --bins) {
    std::vector<double> p(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(bins));
    std::vector<double> q(bins);
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t begin = group * bins / groups;
      const std::size_t end = (group + 1) * bins / groups;
      double sum = 0;
      double filled = 0;
      for (std::size_t i = begin; i < end; ++i) {
        sum += counts[i];
        filled += counts[i] > 0 ? 1 : 0;
      }
      for (std::size_t i = begin; i < end; ++i) {
        q[i] = counts[i] > 0 ? sum / filled : 0;
      }
    }
    for (std::size_t i = bins; i < counts.size(); ++i) {
      p.back() += counts[i];
    }
    double p_total = 0;
    double q_total = 0;
    for (std::size_t i = 0; i < bins; ++i) {
      p_total += p[i];
      q_total += q[i];
    }
    double divergence = 0;
    for (std::size_t i = 0; i < bins; ++i) {
      if (p[i] > 0) {
        divergence += q[i] > 0 ? p[i] / p_total * std::log(p[i] / p_total / (q[i] / q_total))
                               : std::numeric_limits<double>::infinity();
      }
    }
    if (best == 0 || divergence < least) {
      least = divergence;
      best = bins;
    }
  }
  return static_cast<double>(best) * width;
}

/// Sum of squared errors of quantizing the values with a range.
double error_of(const std::vector<float>& values, const ResolvedSpec& spec, RealInterval range) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  const UnitGrid grid = unit_grid(PerTensor{}, shape, Role::activation);
  const Mapping mapping{
      .spec = spec,
      .grid = grid,
      .qparams = choose_qparams({.min = {range.low}, .max = {range.high}}, spec, grid)};
  std::vector<float> result(values.size());
  fake_quantize(TensorView<const float>(values.data(), shape), mapping,
                TensorView<float>(result.data(), shape));
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = static_cast<double>(result[i]) - values[i];
    error += difference * difference;
  }
  return error;
}

TEST(RangeSearch, PercentileIsWithinOneBinOfTheExactOne) {
  for (const double percent : {99.99, 99.9, 99.0, 90.0, 100.0}) {
    const std::vector<float> values = heavy_tailed(30000, 7);
    const Histogram histogram = histogram_of(values);
    const RealInterval range = search_range(
        histogram,
        spec_of("percentile", Dtype::uint8, Scheme::asymmetric, {{"percentile", percent}}));
    EXPECT_NEAR(range.high, exact_percentile(values, percent), histogram.width());
    EXPECT_NEAR(range.low, exact_percentile(values, 100 - percent), histogram.width());
  }
}

TEST(RangeSearch, HundredPercentIsMinMax) {
  const std::vector<float> values = heavy_tailed(999, 8);
  const Histogram histogram = histogram_of(values);
  const RealInterval range = search_range(
      histogram, spec_of("percentile", Dtype::int8, Scheme::symmetric, {{"percentile", 100}}));
  EXPECT_EQ(range, (RealInterval{histogram.min(), histogram.max()}));
}

TEST(RangeSearch, WrongPercentilesAreErrors) {
  for (const Json& value : {Json(50), Json(100.5), Json("99"), Json(-1)}) {
    const ResolvedSpec spec =
        spec_of("percentile", Dtype::uint8, Scheme::asymmetric, {{"percentile", value}});
    try {
      static_cast<void>(make_range_calculator(spec));
      FAIL() << value.dump();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("above 50 and at most 100, found " + value.dump()));
    }
  }
}

TEST(RangeSearch, EntropyFindsTheThresholdOfTheFormula) {
  for (const bool positive : {false, true}) {
    for (const Dtype dtype : {Dtype::uint8, Dtype::uint4}) {
      const std::vector<float> values = heavy_tailed(4000, 9, positive);
      const Histogram histogram = histogram_of(values);
      const std::size_t codes = dtype == Dtype::uint8 ? 256 : 16;
      const double largest = std::max(histogram.max(), -histogram.min());
      const double width = std::exp2(std::floor(std::log2(largest / 2048)) + 1);
      const double threshold = exact_threshold(values, width, positive ? codes : codes / 2);
      const RealInterval range = search_range(histogram, spec_of("entropy", dtype));
      EXPECT_NEAR(range.high, std::min<double>(histogram.max(), threshold), width);
      EXPECT_NEAR(range.low, std::max<double>(histogram.min(), -threshold), width);
    }
  }
}

TEST(RangeSearch, EntropyOfMoreCodesThanBinsIsMinMax) {
  const std::vector<float> values = heavy_tailed(4000, 9);
  const Histogram histogram = histogram_of(values);
  EXPECT_EQ(search_range(histogram, spec_of("entropy", Dtype::uint16)),
            (RealInterval{histogram.min(), histogram.max()}));
}

TEST(RangeSearch, MseBeatsEveryRangeOfAGrid) {
  for (const auto& [dtype, scheme] :
       {std::pair(Dtype::uint8, Scheme::asymmetric), std::pair(Dtype::int8, Scheme::symmetric),
        std::pair(Dtype::uint4, Scheme::asymmetric), std::pair(Dtype::int4, Scheme::symmetric),
        std::pair(Dtype::float8_e4m3fn, Scheme::symmetric)}) {
    for (const bool positive : {false, true}) {
      const std::vector<float> values = heavy_tailed(20000, 10, positive);
      const Histogram histogram = histogram_of(values);
      const ResolvedSpec spec = spec_of("mse", dtype, scheme);
      const double found = error_of(values, spec, search_range(histogram, spec));
      double best = error_of(values, spec, {histogram.min(), histogram.max()});
      for (int k = 1; k <= 60; ++k) {
        const auto share = static_cast<float>(k) / 60;
        for (int j = 1; j <= 60; j += scheme == Scheme::asymmetric && !positive ? 1 : 60) {
          const float other =
              scheme == Scheme::asymmetric && !positive ? static_cast<float>(j) / 60 : share;
          best = std::min(
              best, error_of(values, spec, {histogram.min() * other, histogram.max() * share}));
        }
      }
      EXPECT_LT(found, best * 1.03) << static_cast<int>(dtype) << " positive " << positive;
    }
  }
}

TEST(RangeSearch, SqnrClipsLessThanMse) {
  const Histogram histogram = histogram_of(heavy_tailed(20000, 11));
  const RealInterval mse = search_range(histogram, spec_of("mse", Dtype::uint4));
  const RealInterval sqnr = search_range(histogram, spec_of("sqnr", Dtype::uint4));
  EXPECT_GT(sqnr.high, mse.high);
  EXPECT_LT(sqnr.high, histogram.max());
}

TEST(RangeSearch, NothingAndZerosHaveAnEmptyRange) {
  for (const char* const method : {"percentile", "entropy", "mse", "sqnr"}) {
    EXPECT_EQ(search_range(Histogram(), spec_of(method)), RealInterval());
    EXPECT_EQ(search_range(histogram_of({0, 0, 0}), spec_of(method)), RealInterval()) << method;
    const RealInterval one = search_range(histogram_of({5, 5}), spec_of(method));
    EXPECT_NEAR(one.high, 5, 0.1) << method;
  }
}

TEST(RangeSearch, CalculatorsMeasureEachUnit) {
  const std::vector<float> values = heavy_tailed(6000, 12);
  const Shape shape{3, 2000};
  QuantizationSpec wanted{.dtype = Dtype::int4,
                          .qscheme = Scheme::symmetric,
                          .granularity = PerChannel{.axis = 0},
                          .range_calculator_cls = "mse"};
  const ResolvedSpec spec = resolve(wanted, Role::weight);
  const UnitGrid grid = unit_grid(spec, shape);
  for (const int threads : {1, 2}) {
    const Ranges ranges = make_range_calculator(spec)->measure(
        TensorView<const float>(values.data(), shape), grid, threads);
    ASSERT_EQ(ranges.min.size(), 3U);
    for (std::size_t row = 0; row < 3; ++row) {
      const std::vector<float> part(
          values.begin() + static_cast<std::ptrdiff_t>(row * 2000),
          values.begin() + static_cast<std::ptrdiff_t>(row * 2000 + 2000));
      const RealInterval expected = search_range(histogram_of(part), spec);
      EXPECT_EQ(ranges.max[row], expected.high);
      EXPECT_EQ(ranges.min[row], expected.low);
    }
  }
}

}  // namespace
}  // namespace halfstep
