#include "halfstep/core/observers/histogram_observer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <variant>

#include "halfstep/core/quantize.h"
#include "halfstep/core/state.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kPieces = 16;  ///< of a bin when the range widens
constexpr double kLevels = 256;      ///< of the quantization whose error is estimated
constexpr double kQuantileStep = 1e-5;

/// Where values of [min, max] fall; a single value gets a range of 1 to either side.
struct Bins {
  Bins(float min, float max, std::size_t count) : low(min == max ? min - 1.0 : min), count_(count) {
    const double high = min == max ? max + 1.0 : max;
    per_value = static_cast<double>(count) / (high - low);
  }
  [[nodiscard]] std::size_t operator()(double value) const {
    const double at = std::max((value - low) * per_value, 0.0);
    return std::min(static_cast<std::size_t>(at), count_ - 1);
  }
  double low, per_value;

 private:
  std::size_t count_;
};

void count_values(const FloatView& x, const Bins& bins, std::vector<double>& histogram) {
  std::visit(
      [&](const auto& view) {
        for_each_row(view, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
          for (std::int64_t i = 0; i < count; ++i) {
            const float value = to_float(view.data()[offset + i * stride]);
            if (std::isfinite(value)) {
              histogram[bins(value)] += 1;
            }
          }
        });
      },
      x);
}

/// Integral of the squared distance to the middle of a level, from `from` to `to`.
double error_between(double from, double to, double density) {
  return density * (to * to * to - from * from * from) / 3;
}

}  // namespace

HistogramObserver::HistogramObserver(const ObserverOptions& options) : Observer(options, false) {
  require(options.bins > 1,
          "a histogram needs at least 2 bins, found " + std::to_string(options.bins));
  require(!options.is_dynamic, "a histogram observer can't be dynamic");
  HistogramObserver::reset_min_max_vals();
}

void HistogramObserver::reset_min_max_vals() {
  min_ = kInfinity;
  max_ = -kInfinity;
  histogram_.assign(static_cast<std::size_t>(options_.bins), 0.0);
  nan_count_ = infinity_count_ = 0;
}

void HistogramObserver::observe(const FloatView& x, int threads) {
  const Shape& shape = shape_of(x);
  if (element_count(shape) == 0) {
    return;
  }
  const Ranges batch =
      measure_range(x, unit_grid(PerTensor{}, shape, Role::activation), Policy::safe, threads);
  if (batch.nan_count > 0 && options_.policy == Policy::reference) {
    throw Error(ErrorKind::invalid_argument,
                "a histogram can't take the " + std::to_string(batch.nan_count) +
                    " NaN of this tensor; policy safe leaves them out");
  }
  nan_count_ += batch.nan_count;
  infinity_count_ += batch.infinity_count;
  if (batch.nan_count + batch.infinity_count == element_count(shape)) {
    return;
  }
  widen_to(batch.min[0], batch.max[0]);
  count_values(x, Bins(min_, max_, histogram_.size()), histogram_);
}

void HistogramObserver::widen_to(float min, float max) {
  const float new_min = std::min(min, min_);
  const float new_max = std::max(max, max_);
  if (!fresh() && (new_min < min_ || new_max > max_)) {
    std::vector<double> wider(histogram_.size(), 0.0);
    const Bins bins(new_min, new_max, wider.size());
    const double piece =
        (static_cast<double>(max_) - min_) / static_cast<double>(histogram_.size() * kPieces);
    for (std::size_t i = 0; i < histogram_.size() * kPieces; ++i) {
      const double middle = min_ + (static_cast<double>(i) + 0.5) * piece;
      wider[bins(middle)] += histogram_[i / kPieces] / static_cast<double>(kPieces);
    }
    histogram_ = std::move(wider);
  }
  min_ = new_min;
  max_ = new_max;
}

double HistogramObserver::error_of(std::size_t first, std::size_t last) const {
  const double width = (static_cast<double>(max_) - min_) / static_cast<double>(histogram_.size());
  const double level = width * static_cast<double>(last - first + 1) / kLevels;
  if (level == 0) {
    return 0;
  }
  double error = 0;
  for (std::size_t bin = 0; bin < histogram_.size(); ++bin) {
    const double begin = (static_cast<double>(bin) - static_cast<double>(first)) * width;
    const double end = begin + width;
    const double density = histogram_[bin] / width;
    const double first_level = std::clamp(std::floor(begin / level), 0.0, kLevels - 1);
    const double last_level = std::clamp(std::floor(end / level), 0.0, kLevels - 1);
    error += error_between(begin - (first_level + 0.5) * level, level / 2, density);
    error += (last_level - first_level - 1) * error_between(-level / 2, level / 2, density);
    error += error_between(-level / 2, end - (last_level + 0.5) * level, density);
  }
  return error;
}

std::pair<float, float> HistogramObserver::chosen_range() const {
  std::vector<double> cumulative(histogram_.size());
  std::partial_sum(histogram_.begin(), histogram_.end(), cumulative.begin());
  const double total = cumulative.back();
  double low = 0;
  double high = 1;
  std::size_t first = 0;
  std::size_t last = histogram_.size() - 1;
  double best = std::numeric_limits<double>::infinity();
  while (low < high) {
    std::size_t left = first;
    std::size_t right = last;
    while (left < last && cumulative[left] < (low + kQuantileStep) * total) {
      ++left;
    }
    while (right > first && cumulative[right] > (high - kQuantileStep) * total) {
      --right;
    }
    const bool move_left = left - first > last - right;
    (move_left ? low : high) += move_left ? kQuantileStep : -kQuantileStep;
    const std::size_t new_first = move_left ? left : first;
    const std::size_t new_last = move_left ? last : right;
    if (new_first == first && new_last == last) {
      continue;
    }
    const double error = error_of(new_first, new_last);
    if (error > best) {
      break;
    }
    best = error;
    first = new_first;
    last = new_last;
  }
  const double width = (static_cast<double>(max_) - min_) / static_cast<double>(histogram_.size());
  return {static_cast<float>(min_ + width * static_cast<double>(first)),
          static_cast<float>(min_ + width * static_cast<double>(last + 1))};
}

ObserverQParams HistogramObserver::calculate_qparams() const {
  if (fresh()) {
    return {.scale = {1.0F}, .zero_point = {0}};
  }
  const auto [min, max] = chosen_range();
  return qparams_from({&min, 1}, {&max, 1});
}

Json HistogramObserver::state() const {
  return {{"min_val", internal::number_json(min_)},
          {"max_val", internal::number_json(max_)},
          {"histogram", histogram_},
          {"nan_count", nan_count_},
          {"infinity_count", infinity_count_}};
}

void HistogramObserver::load_state(const Json& state) {
  const Json& bins = internal::read_member(state, "histogram");
  require(bins.is_array() && bins.size() == histogram_.size(),
          "saved state: \"histogram\" must be a list of " + std::to_string(histogram_.size()) +
              " numbers, one for each bin");
  std::vector<double> histogram;
  for (const Json& bin : bins) {
    require(bin.is_number(), "saved state: \"histogram\" holds " + bin.dump());
    histogram.push_back(bin.get<double>());
  }
  const double min = internal::read_number(state, "min_val");
  const double max = internal::read_number(state, "max_val");
  nan_count_ = internal::read_count(state, "nan_count");
  infinity_count_ = internal::read_count(state, "infinity_count");
  histogram_ = std::move(histogram);
  min_ = static_cast<float>(min);
  max_ = static_cast<float>(max);
}

void HistogramObserver::merge(const Observer& other) {
  const auto* same = dynamic_cast<const HistogramObserver*>(&other);
  require(same != nullptr, "statistics of observers merge only if their classes are equal");
  require_same_options(other);
  nan_count_ += same->nan_count_;
  infinity_count_ += same->infinity_count_;
  if (same->fresh()) {
    return;
  }
  HistogramObserver added = *same;
  const bool was_fresh = fresh();
  added.widen_to(was_fresh ? added.min_ : min_, was_fresh ? added.max_ : max_);
  widen_to(added.min_, added.max_);
  for (std::size_t i = 0; i < histogram_.size(); ++i) {
    histogram_[i] += added.histogram_[i];
  }
}

}  // namespace halfstep
