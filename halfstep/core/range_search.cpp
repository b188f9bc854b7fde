#include "halfstep/core/range_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "halfstep/core/range_error.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::array<std::pair<std::string_view, RangeMethod>, 4> kMethods = {{
    {"percentile", RangeMethod::percentile},
    {"entropy", RangeMethod::entropy},
    {"mse", RangeMethod::mse},
    {"sqnr", RangeMethod::sqnr},
}};

bool is_symmetric(const QuantizationSpec& spec) { return spec.qscheme != Scheme::asymmetric; }

/// The order statistic of a rank from 0: values of one bin are taken to lie evenly in it.
double order_statistic(const Histogram& histogram, std::uint64_t rank) {
  if (rank == 0) {
    return histogram.min();
  }
  if (rank + 1 >= histogram.total()) {
    return histogram.max();
  }
  const std::vector<std::uint64_t>& counts = histogram.counts();
  std::size_t bin = 0;
  while (rank >= counts[bin]) {
    rank -= counts[bin++];
  }
  const double inside = (static_cast<double>(rank) + 0.5) / static_cast<double>(counts[bin]);
  const double edge = static_cast<double>(histogram.first_bin() + static_cast<std::int64_t>(bin));
  return std::clamp((edge + inside) * histogram.width(), static_cast<double>(histogram.min()),
                    static_cast<double>(histogram.max()));
}

double percentile(const Histogram& histogram, double percent) {
  const double at = static_cast<double>(histogram.total() - 1) * percent / 100;
  const double below = std::floor(at);
  const auto rank = static_cast<std::uint64_t>(below);
  const double low = order_statistic(histogram, rank);
  if (at == below) {
    return low;
  }
  return low + (order_statistic(histogram, rank + 1) - low) * (at - below);
}

/// Bins of entropy, as many as its usual implementations have.
constexpr double kEntropyBins = 2048;

/// Bins wide enough for kEntropyBins to reach from 0 to the largest magnitude.
Histogram from_zero(const Histogram& histogram) {
  const double largest = std::max(std::abs(static_cast<double>(histogram.min())),
                                  std::abs(static_cast<double>(histogram.max())));
  int exponent = histogram.exponent();
  while (std::ldexp(largest, -exponent) >= kEntropyBins) {
    ++exponent;
  }
  return histogram.coarser(exponent);
}

/// Counts of |x| by bin, exact zeros left out.
std::vector<double> folded(const Histogram& histogram) {
  std::vector<double> counts;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    const std::int64_t bin = histogram.first_bin() + static_cast<std::int64_t>(i);
    const auto at = static_cast<std::size_t>(bin < 0 ? -bin - 1 : bin);
    counts.resize(std::max(counts.size(), at + 1));
    const std::uint64_t zeros = bin == 0 ? histogram.zeros() : 0;
    counts[at] += static_cast<double>(histogram.counts()[i] - zeros);
  }
  return counts;
}

/// Kullback-Leibler divergences of thresholds, each in time proportional to the groups.
class Divergence {
 public:
  Divergence(const std::vector<double>& counts, std::size_t groups)
      : counts_(counts), groups_(groups), sum_(1, 0.0), filled_(1, 0.0), entropy_(1, 0.0) {
    for (const double count : counts) {
      sum_.push_back(sum_.back() + count);
      filled_.push_back(filled_.back() + (count > 0 ? 1 : 0));
      entropy_.push_back(entropy_.back() + (count > 0 ? count * std::log(count) : 0.0));
    }
  }

  [[nodiscard]] double of(std::size_t bins) const {
    const double inside = sum_[bins];
    const double total = sum_.back();
    const double outliers = total - inside;
    const double last = counts_[bins - 1];
    if (inside == 0 || (last == 0 && outliers > 0)) {
      return std::numeric_limits<double>::infinity();  // q is 0 where p is not
    }
    const double raised = last + outliers;
    const double own = entropy_[bins - 1] + (raised > 0 ? raised * std::log(raised) : 0.0);
    double cross = 0;
    for (std::size_t group = 0; group < groups_; ++group) {
      const std::size_t begin = group * bins / groups_;
      const std::size_t end = (group + 1) * bins / groups_;
      const double count = sum_[end] - sum_[begin];
      if (count > 0) {
        const double more = end == bins ? outliers : 0.0;
        cross += (count + more) * std::log(count / (filled_[end] - filled_[begin]));
      }
    }
    return (own - cross) / total + std::log(inside / total);
  }

 private:
  const std::vector<double>& counts_;
  std::size_t groups_;
  std::vector<double> sum_, filled_, entropy_;  // of the first i bins
};

RealInterval by_entropy(const Histogram& original, const ResolvedSpec& spec) {
  const Histogram histogram = from_zero(original);
  const auto codes = static_cast<std::size_t>(spec.quant_max() - spec.quant_min()) + 1;
  const bool one_sign = histogram.min() >= 0 || histogram.max() <= 0;
  const std::size_t groups =
      std::max<std::size_t>(is_symmetric(spec.spec()) || !one_sign ? codes / 2 : codes, 1);
  const std::vector<double> counts = folded(histogram);
  const RealInterval range{.low = histogram.min(), .high = histogram.max()};
  if (is_floating(spec->dtype) || counts.size() <= groups) {
    return range;
  }
  const Divergence divergence(counts, groups);
  std::size_t best = counts.size();
  double least = divergence.of(best);
  for (std::size_t bins = counts.size() - 1; bins >= groups; --bins) {
    if (const double found = divergence.of(bins); found < least) {
      least = found;
      best = bins;
    }
  }
  const auto threshold = static_cast<float>(static_cast<double>(best) * histogram.width());
  return {.low = std::max(range.low, -threshold), .high = std::min(range.high, threshold)};
}

/// Candidates for an end of the range, as factors of the whole: 1, 2^(-1/8), 2^(-2/8), ...
constexpr int kPerOctave = 8;
constexpr int kOctaves = 16;
/// After the first search: this many steps to either side of the best, each a fraction of the last.
constexpr int kRefinements = 2;
constexpr int kSteps = 4;

struct Best {
  double low = 0, high = 0;
  double error = std::numeric_limits<double>::infinity();
  void take(double new_low, double new_high, double new_error) {
    if (new_error < error) {
      *this = {.low = new_low, .high = new_high, .error = new_error};
    }
  }
};

std::vector<double> scaled(double end, int per_octave) {
  std::vector<double> candidates;
  if (end == 0) {
    return {0};
  }
  for (int k = 0; k <= kOctaves * per_octave; ++k) {
    candidates.push_back(end * std::exp2(-static_cast<double>(k) / per_octave));
  }
  return candidates;
}

std::vector<double> around(double middle, double ratio, double limit) {
  std::vector<double> candidates;
  if (middle == 0) {
    return {0};
  }
  for (int k = -kSteps; k <= kSteps; ++k) {
    const double candidate = middle * std::pow(ratio, static_cast<double>(k) / kSteps);
    candidates.push_back(std::abs(candidate) < std::abs(limit) ? candidate : limit);
  }
  return candidates;
}

/// high = -low.
Best best_symmetric(const RangeError& error, double limit) {
  Best best;
  double ratio = std::exp2(1.0 / kPerOctave);
  for (const double end : scaled(limit, kPerOctave)) {
    best.take(-end, end, error.of(-end, end));
  }
  for (int round = 0; round < kRefinements; ++round, ratio = std::pow(ratio, 1.0 / kSteps)) {
    for (const double end : around(best.high, ratio, limit)) {
      best.take(-end, end, error.of(-end, end));
    }
  }
  return best;
}

Best best_of_two_ends(const RangeError& error, double low, double high) {
  constexpr int kCoarse = kPerOctave / 2;
  Best best;
  const auto try_all = [&](const std::vector<double>& lows, const std::vector<double>& highs) {
    for (const double left : lows) {
      for (const double right : highs) {
        best.take(left, right, error.of(left, right));
      }
    }
  };
  try_all(scaled(low, kCoarse), scaled(high, kCoarse));
  double ratio = std::exp2(1.0 / kCoarse);
  for (int round = 0; round < kRefinements; ++round, ratio = std::pow(ratio, 1.0 / kSteps)) {
    try_all(around(best.low, ratio, low), around(best.high, ratio, high));
  }
  return best;
}

RealInterval by_error(const Histogram& histogram, const ResolvedSpec& spec,
                      double clipping_weight) {
  const RangeError error(histogram, spec, clipping_weight);
  const double low = std::min(histogram.min(), 0.0F);
  const double high = std::max(histogram.max(), 0.0F);
  const bool symmetric = is_symmetric(spec.spec()) || is_floating(spec->dtype);
  const Best best =
      symmetric ? best_symmetric(error, std::max(-low, high)) : best_of_two_ends(error, low, high);
  return {.low = static_cast<float>(std::max(best.low, low)),
          .high = static_cast<float>(std::min(best.high, high))};
}

}  // namespace

std::optional<RangeMethod> find_range_method(std::string_view range_calculator_cls) {
  const auto* const found = std::find_if(kMethods.begin(), kMethods.end(), [&](const auto& method) {
    return method.first == range_calculator_cls;
  });
  return found == kMethods.end() ? std::nullopt : std::optional(found->second);
}

double percentile_of(const QuantizationSpec& spec) {
  if (!spec.extra.is_object() || !spec.extra.contains("percentile")) {
    return kDefaultPercentile;
  }
  const Json& value = spec.extra["percentile"];
  const double percent = value.is_number() ? value.get<double>() : 0.0;
  require(percent > 50 && percent <= 100,
          "percentile must be a number above 50 and at most 100, found " + value.dump());
  return percent;
}

RealInterval search_range(const Histogram& histogram, const ResolvedSpec& spec) {
  const std::optional<RangeMethod> method = find_range_method(spec->range_calculator_cls);
  if (histogram.empty()) {
    return {};
  }
  if (method == RangeMethod::percentile) {
    const double percent = percentile_of(spec.spec());
    return {.low = static_cast<float>(percentile(histogram, 100 - percent)),
            .high = static_cast<float>(percentile(histogram, percent))};
  }
  if (method == RangeMethod::entropy) {
    return by_entropy(histogram, spec);
  }
  if (method == RangeMethod::mse || method == RangeMethod::sqnr) {
    constexpr double kSqnrGamma = 3;
    return by_error(histogram, spec, method == RangeMethod::mse ? 1 : kSqnrGamma);
  }
  return {.low = histogram.min(), .high = histogram.max()};
}

}  // namespace halfstep
