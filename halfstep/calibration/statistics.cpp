#include "halfstep/calibration/statistics.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/core/range_search.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// Values this close to 0 beside masks are zeros.
constexpr float kNothing = 1e-6F;
constexpr float kMaskReach = 100;

}  // namespace

bool only_masks(const TensorStatistics& statistics) {
  return statistics.has_finite() && statistics.mask_count + statistics.infinity_count > 0 &&
         std::max(std::abs(statistics.min), std::abs(statistics.max)) <= kNothing;
}

void SampleExtremes::add(float value) noexcept {
  for (float& kept : values_) {
    if (value > kept) {
      std::swap(value, kept);
    }
  }
}

void SampleExtremes::merge(const SampleExtremes& other) noexcept {
  for (const float value : other.values_) {
    add(value);
  }
}

double SampleExtremes::expected_movement() const noexcept {
  // The k largest samples all come last with probability 0.1^k; then the next one counts.
  double movement = 0;
  double probability = 0.1;
  for (std::size_t k = 0; k + 1 < kKept && values_[k + 1] != kNone; ++k) {
    movement += probability * (static_cast<double>(values_[k]) - values_[k + 1]);
    probability *= 0.1;
  }
  return movement;
}

SampleExtremes SampleExtremes::of(const std::array<float, kKept>& values) {
  require(std::is_sorted(values.begin(), values.end(), std::greater<>()),
          "the extremes of samples must be in descending order");
  SampleExtremes extremes;
  extremes.values_ = values;
  return extremes;
}

std::vector<std::size_t> ChannelActivity::inactive() const {
  std::vector<std::size_t> channels;
  for (std::size_t i = 0; i < active.size() && !varies; ++i) {
    if (active[i] == 0) {
      channels.push_back(i);
    }
  }
  return channels;
}

void ChannelActivity::merge(const ChannelActivity& other) {
  if (other.active.empty() && !other.varies) {
    return;
  }
  if (active.empty() && !varies) {
    *this = other;
    return;
  }
  varies = varies || other.varies || active.size() != other.active.size();
  if (varies) {
    active.clear();
    return;
  }
  for (std::size_t i = 0; i < active.size(); ++i) {
    active[i] = active[i] != 0 || other.active[i] != 0 ? 1 : 0;
  }
}

bool needs_histogram(const ResolvedSpec& spec) {
  return (spec->qparam_calculator_cls == "global_minmax" ||
          spec->qparam_calculator_cls == "default") &&
         find_range_method(spec->range_calculator_cls).has_value() &&
         range_calculators().is_original(spec->range_calculator_cls);  // no class of a user
}

std::string kept_calculator(const ResolvedSpec& spec) {
  const std::string name(qparams_calculator_name(spec.spec(), spec.role()));
  if (needs_histogram(spec) ||
      (name == "global_minmax" && spec->range_calculator_cls == "minmax")) {
    return {};
  }
  return name + (spec->range_calculator_cls == "minmax" ? "" : " of " + spec->range_calculator_cls);
}

Ranges range_of(const TensorStatistics& statistics, const ResolvedSpec& spec) {
  Ranges range{.min = {0},
               .max = {0},
               .nan_count = statistics.nan_count,
               .infinity_count = statistics.infinity_count};
  if (!statistics.has_finite()) {
    return range;
  }
  if (only_masks(statistics)) {
    (statistics.mask_below ? range.min : range.max)[0] =
        statistics.mask_below ? -kMaskReach : kMaskReach;
    return range;
  }
  const std::string calculator = kept_calculator(spec);
  if (!calculator.empty()) {
    if (statistics.calculator != calculator) {
      throw Error(ErrorKind::unsupported,
                  "the statistics hold " +
                      (statistics.calculator.empty() ? "the smallest and largest value"
                                                     : statistics.calculator) +
                      ", and the spec asks for " + calculator + "; calibrate with that method");
    }
    const std::unique_ptr<QParamsCalculatorBase> running = make_qparams_calculator(spec);
    running->load_state(statistics.calculator_state);
    const Ranges found = running->range();
    range.min = found.min;
    range.max = found.max;
    return range;
  }
  range.min = {statistics.min};
  range.max = {statistics.max};
  if (needs_histogram(spec)) {
    if (!statistics.histogram) {
      throw Error(ErrorKind::unsupported,
                  "the statistics hold no histogram, which " + spec->range_calculator_cls +
                      " needs; calibrate with --method " + spec->range_calculator_cls);
    }
    const RealInterval chosen = search_range(*statistics.histogram, spec);
    range.min = {chosen.low};
    range.max = {chosen.high};
  }
  return range;
}

std::optional<Ranges> range_beside_masks(std::span<const float> values) {
  Ranges range{.min = {0}, .max = {0}};
  bool below = false;
  bool above = false;
  for (const float x : values) {
    if (std::isnan(x)) {
      return std::nullopt;
    }
    if (std::abs(x) < kMaskMagnitude) {
      range.min[0] = std::min(range.min[0], x);
      range.max[0] = std::max(range.max[0], x);
    } else {
      (x < 0 ? below : above) = true;
    }
  }
  if (below == above) {
    return std::nullopt;
  }
  if (std::max(-range.min[0], range.max[0]) <= kNothing) {
    (below ? range.min : range.max)[0] = below ? -kMaskReach : kMaskReach;
  }
  return range;
}

void merge(TensorStatistics& statistics, const TensorStatistics& other) {
  if (!statistics.calculator.empty() || !other.calculator.empty()) {
    throw Error(ErrorKind::unsupported,
                "statistics of " +
                    (statistics.calculator.empty() ? other.calculator : statistics.calculator) +
                    " depend on the order of samples and can't be merged; calibrate with minmax "
                    "or one of the methods of histograms");
  }
  require(
      statistics.histogram.has_value() == other.histogram.has_value(),
      "one part holds histograms and the other does not; calibrate both with the same --method");
  statistics.values += other.values;
  statistics.nan_count += other.nan_count;
  statistics.infinity_count += other.infinity_count;
  statistics.mask_count += other.mask_count;
  statistics.mask_below = statistics.mask_below || other.mask_below;
  statistics.mask_above = statistics.mask_above || other.mask_above;
  statistics.min = std::min(statistics.min, other.min);
  statistics.max = std::max(statistics.max, other.max);
  statistics.lowest.merge(other.lowest);
  statistics.highest.merge(other.highest);
  if (statistics.histogram && other.histogram) {
    statistics.histogram->merge(*other.histogram);
  }
  if (statistics.channels && other.channels) {
    statistics.channels->merge(*other.channels);
  } else {
    statistics.channels.reset();
  }
}

double expected_movement(const TensorStatistics& statistics) {
  const double width =
      static_cast<double>(std::max(statistics.max, 0.0F)) - std::min(statistics.min, 0.0F);
  if (!statistics.has_finite() || width <= 0) {
    return 0;
  }
  return (statistics.lowest.expected_movement() + statistics.highest.expected_movement()) / width;
}

}  // namespace halfstep
