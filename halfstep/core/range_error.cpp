#include "halfstep/core/range_error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "halfstep/core/minifloat.h"

namespace halfstep {
namespace {

/// Up to this many steps their grid shows in the error; above, it is as good as uniform.
constexpr double kCoarseSteps = 63;

std::vector<float> positive_codes(Dtype dtype) {
  std::vector<float> codes;
  for (const float code : decoded_bytes(dtype)) {
    if (code >= 0 && std::isfinite(code)) {
      codes.push_back(code + 0.0F);
    }
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

}  // namespace

RangeError::RangeError(const Histogram& histogram, const ResolvedSpec& spec, double clipping_weight)
    : clipping_weight_(clipping_weight),
      steps_(spec.quant_max() - spec.quant_min()),
      by_value_(is_floating(spec->dtype) || steps_ <= kCoarseSteps) {
  if (is_floating(spec->dtype)) {
    codes_ = positive_codes(spec->dtype);
  }
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    const std::int64_t bin = histogram.first_bin() + static_cast<std::int64_t>(i);
    const double count =
        static_cast<double>(histogram.counts()[i] - (bin == 0 ? histogram.zeros() : 0));
    if (count > 0) {
      const double middle = (static_cast<double>(bin) + 0.5) * histogram.width();
      middles_.push_back(std::clamp(middle, static_cast<double>(histogram.min()),
                                    static_cast<double>(histogram.max())));
      counts_.push_back(count);
    }
  }
  for (std::vector<double>& sums : sums_) {
    sums.reserve(counts_.size() + 1);
    sums.push_back(0);
  }
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    double term = counts_[i];
    for (std::vector<double>& sums : sums_) {
      sums.push_back(sums.back() + term);
      term *= middles_[i];
    }
  }
}

double RangeError::distance_to_code(double value, double scale) const {
  const double code = std::abs(value) / scale;
  if (codes_.empty()) {
    return std::abs(code - std::nearbyint(code)) * scale;
  }
  const auto above = std::lower_bound(codes_.begin(), codes_.end(), code);
  double distance = above == codes_.end() ? std::numeric_limits<double>::infinity() : *above - code;
  if (above != codes_.begin()) {
    distance = std::min(distance, code - *std::prev(above));
  }
  return distance * scale;
}

double RangeError::rounding(std::size_t begin, std::size_t end, double low, double high) const {
  const double step = codes_.empty() ? (high - low) / steps_ : high / codes_.back();
  if (step == 0) {
    return 0;
  }
  if (!by_value_) {
    return (sums_[0][end] - sums_[0][begin]) * step * step / 12;
  }
  double error = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double distance = distance_to_code(middles_[i], step);
    error += counts_[i] * distance * distance;
  }
  return error;
}

double RangeError::of(double low, double high) const {
  const auto first = middles_.begin();
  const auto begin = static_cast<std::size_t>(std::lower_bound(first, middles_.end(), low) - first);
  const auto end = static_cast<std::size_t>(std::upper_bound(first, middles_.end(), high) - first);
  const auto beyond = [&](std::size_t from, std::size_t to, double bound) {
    const double count = sums_[0][to] - sums_[0][from];
    const double sum = sums_[1][to] - sums_[1][from];
    const double squares = sums_[2][to] - sums_[2][from];
    return std::max(squares - 2 * bound * sum + bound * bound * count, 0.0);
  };
  const double clipped = beyond(0, begin, low) + beyond(end, counts_.size(), high);
  return rounding(begin, end, low, high) + clipping_weight_ * clipped;
}

}  // namespace halfstep
