#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "halfstep/core/histogram.h"
#include "halfstep/core/spec.h"

namespace halfstep {

/// How a range is chosen from the distribution of all values: names of range_calculator_cls.
enum class RangeMethod : std::uint8_t { percentile, entropy, mse, sqnr };
/// Empty for minmax and for names that users registered.
[[nodiscard]] std::optional<RangeMethod> find_range_method(std::string_view range_calculator_cls);

constexpr double kDefaultPercentile = 99.99;

struct RealInterval {
  float low = 0, high = 0;
  bool operator==(const RealInterval&) const = default;
};

/// The range that `spec.range_calculator_cls` chooses for the values of `histogram`.
///
/// With w the width of a bin, [min, max] of the values, n = quant_max - quant_min codes above the
/// smallest, and the values that are exactly 0 left out of errors, as every range represents them:
///
/// percentile  [P(100 - p), P(p)] with p = spec.extra["percentile"] (99.99 if absent, above 50 and
///             at most 100). P interpolates linearly between the two nearest order statistics, as
///             numpy.percentile; an order statistic is known to within one bin.
/// entropy     (w here such that 0 to the largest magnitude needs at most 2048 bins) The threshold
/// t = i w that minimizes the Kullback-Leibler divergence
///             sum p log(p / q): p counts |x| in bins of w up to t, all larger values in the last
///             bin; q counts only those up to t, spread evenly over the non-empty bins of each of g
///             groups of bins; group j holds bins floor(j i / g) up to floor((j + 1) i / g). g is
///             half of the codes, rounded down (128 of 256), or all codes where an asymmetric
///             scheme meets values of one sign. Of equal divergences the largest t wins. The range
///             is [max(min, -t), min(max, t)]. With at least as many groups as bins: [min, max].
/// mse         The range [low, high] around 0 with the smallest sum of squared errors: of values
///             beyond the range their distance to it, of values inside step^2 / 12 with
///             step = (high - low) / n, or, up to 6 bits and for float formats, the distance of the
///             middle of their bin to the nearest code. Symmetric schemes search high = -low.
///             Candidates: max and min times 2^(-k/8), then finer steps around the best.
/// sqnr        As mse, with errors beyond the range counted three times. Source: AIMET's
///             "tf_enhanced" analyzer, whose gamma is 3.
///
/// Edge:   an empty histogram gives [0, 0]. Fixed bounds of the spec are not looked at.
/// Errors: invalid_argument for a percentile that is no number of (50, 100].
[[nodiscard]] RealInterval search_range(const Histogram& histogram, const ResolvedSpec& spec);

/// spec.extra["percentile"], checked; kDefaultPercentile if absent.
[[nodiscard]] double percentile_of(const QuantizationSpec& spec);

}  // namespace halfstep
