#include "halfstep/core/histogram.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "halfstep/core/kernels/histogram/histogram.h"
#include "halfstep/core/kernels/minmax/minmax.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// A bin is at least 2^-29 of the largest magnitude wide: its number fits 30 bits.
constexpr int kNarrowest = 29;
constexpr int kSmallestExponent = -149;                      // of a subnormal float
constexpr std::size_t kFewValues = 1024;                     // not worth the kernel's tables
constexpr std::size_t kCountsAtOnce = std::size_t{1} << 30;  // fits the tables' 32 bits

std::int64_t bin_of(float value, int exponent) {
  return static_cast<std::int64_t>(std::floor(std::ldexp(static_cast<double>(value), -exponent)));
}

/// The smallest exponent at which [min, max] needs at most `limit` bins.
int exponent_for(float min, float max, std::size_t limit) {
  const float largest = std::max(std::abs(min), std::abs(max));
  int exponent = largest == 0 ? kSmallestExponent
                              : std::max(std::ilogb(largest) - kNarrowest, kSmallestExponent);
  const double span = static_cast<double>(max) - min;
  if (span > 0) {
    // With 2^e < span / limit there are more bins than the limit.
    exponent = std::max(exponent, std::ilogb(span / static_cast<double>(limit)));
  }
  while (bin_of(max, exponent) - bin_of(min, exponent) >= static_cast<std::int64_t>(limit)) {
    ++exponent;
  }
  return exponent;
}

}  // namespace

Histogram::Histogram(std::size_t limit) : limit_(limit) {
  require(limit >= 2, "a histogram needs at least 2 bins, found " + std::to_string(limit));
}

double Histogram::width() const noexcept { return std::ldexp(1.0, exponent_); }

Histogram Histogram::coarser(int exponent) const {
  Histogram result = *this;
  result.coarsen(exponent);
  return result;
}

void Histogram::coarsen(int exponent) {
  const int shift = exponent - exponent_;
  if (shift <= 0 || empty()) {
    return;
  }
  const auto coarse = [shift](std::int64_t bin) { return shift < 63 ? bin >> shift : bin >> 63; };
  const std::int64_t first = coarse(first_);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(
      coarse(first_ + static_cast<std::int64_t>(counts_.size()) - 1) - first + 1));
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts[static_cast<std::size_t>(coarse(first_ + static_cast<std::int64_t>(i)) - first)] +=
        counts_[i];
  }
  counts_ = std::move(counts);
  first_ = first;
  exponent_ = exponent;
}

void Histogram::widen(float min, float max) {
  if (empty()) {
    min_ = min;
    max_ = max;
    exponent_ = exponent_for(min, max, limit_);
    first_ = bin_of(min, exponent_);
    counts_.assign(static_cast<std::size_t>(bin_of(max, exponent_) - first_ + 1), 0);
    return;
  }
  if (min >= min_ && max <= max_) {
    return;
  }
  min_ = std::min(min_, min);
  max_ = std::max(max_, max);
  coarsen(exponent_for(min_, max_, limit_));
  const std::int64_t first = bin_of(min_, exponent_);
  const auto before = static_cast<std::size_t>(first_ - first);
  const auto needed = static_cast<std::size_t>(bin_of(max_, exponent_) - first + 1);
  if (before > 0 || needed > counts_.size()) {
    std::vector<std::uint64_t> counts(needed);
    std::copy(counts_.begin(), counts_.end(), counts.begin() + static_cast<std::ptrdiff_t>(before));
    counts_ = std::move(counts);
    first_ = first;
  }
}

void Histogram::add(std::span<const float> values) {
  if (!values.empty()) {
    const MinMax range = minmax(values.data(), values.size());
    add(values, range.min, range.max);
  }
}

void Histogram::add(std::span<const float> values, float min, float max) {
  if (values.empty()) {
    return;
  }
  widen(min + 0.0F, max + 0.0F);  // -0 becomes +0
  total_ += values.size();
  const double per_width = std::ldexp(1.0, -exponent_);
  if (values.size() < kFewValues) {
    for (const float value : values) {
      const double bin = std::floor(static_cast<double>(value) * per_width);
      ++counts_[static_cast<std::size_t>(static_cast<std::int64_t>(bin) - first_)];
      zeros_ += value == 0.0F ? 1 : 0;
    }
    return;
  }
  const kernels::HistogramKernels& kernels = kernels::histogram_kernels();
  const std::size_t stride = counts_.size();
  thread_local std::vector<std::uint32_t> tables;
  for (std::size_t begin = 0; begin < values.size(); begin += kCountsAtOnce) {
    const std::size_t size = std::min(kCountsAtOnce, values.size() - begin);
    tables.assign(kernels::kCountTables * stride, 0);
    zeros_ += kernels.count(values.data() + begin, size, per_width,
                            static_cast<std::int32_t>(first_), tables.data(), stride);
    for (std::size_t table = 0; table < kernels::kCountTables; ++table) {
      for (std::size_t i = 0; i < stride; ++i) {
        counts_[i] += tables[table * stride + i];
      }
    }
  }
}

void Histogram::merge(const Histogram& other) {
  require(limit_ == other.limit_, "histograms of " + std::to_string(limit_) + " and of " +
                                      std::to_string(other.limit_) + " bins can't be merged");
  if (other.empty()) {
    return;
  }
  widen(other.min_, other.max_);
  Histogram added = other;
  added.coarsen(exponent_);
  for (std::size_t i = 0; i < added.counts_.size(); ++i) {
    counts_[static_cast<std::size_t>(added.first_ - first_) + i] += added.counts_[i];
  }
  total_ += other.total_;
  zeros_ += other.zeros_;
}

Histogram Histogram::from_state(State state, std::size_t limit) {
  Histogram histogram(limit);
  if (state.counts.empty()) {
    require(state.zeros == 0, "a histogram without bins can't hold zeros");
    return histogram;
  }
  require(std::isfinite(state.min) && std::isfinite(state.max) && state.min <= state.max,
          "the smallest and largest value of a histogram must be finite and in order");
  histogram.widen(state.min + 0.0F, state.max + 0.0F);
  require(histogram.exponent_ == state.exponent && histogram.first_ == state.first_bin &&
              histogram.counts_.size() == state.counts.size(),
          "the bins of a histogram do not fit its smallest and largest value");
  std::uint64_t total = 0;
  for (const std::uint64_t count : state.counts) {
    require(count <= (std::uint64_t{1} << 62) && total <= (std::uint64_t{1} << 62),
            "the counts of a histogram are too large to be true");
    total += count;
  }
  require(total > 0 && state.zeros <= total && state.counts.front() > 0 && state.counts.back() > 0,
          "the counts of a histogram contradict its range");
  histogram.counts_ = std::move(state.counts);
  histogram.total_ = total;
  histogram.zeros_ = state.zeros;
  return histogram;
}

}  // namespace halfstep
