#include "halfstep/core/observers/minmax_observer.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "halfstep/core/quantize.h"
#include "halfstep/core/state.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// NaN sticks.
float smaller(float a, float b) { return std::isnan(a) || a < b ? a : b; }
float larger(float a, float b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

RunningMinMaxObserver::RunningMinMaxObserver(const ObserverOptions& options, bool per_channel,
                                             bool moving_average)
    : Observer(options, per_channel), per_channel_(per_channel), moving_average_(moving_average) {
  if (options.is_dynamic && (per_channel || (moving_average && options.averaging_constant != 1))) {
    throw Error(ErrorKind::invalid_argument,
                "is_dynamic needs an observer per tensor, and of a moving average "
                "averaging_constant 1");
  }
  RunningMinMaxObserver::reset_min_max_vals();
}

void RunningMinMaxObserver::reset_min_max_vals() {
  min_.assign(per_channel_ ? 0 : 1, kInfinity);
  max_.assign(per_channel_ ? 0 : 1, -kInfinity);
  nan_count_ = infinity_count_ = 0;
}

bool RunningMinMaxObserver::fresh() const {
  return min_.empty() || (!per_channel_ && min_[0] == kInfinity && max_[0] == -kInfinity);
}

void RunningMinMaxObserver::observe(const FloatView& x, int threads) {
  const Shape& shape = shape_of(x);
  if (element_count(shape) == 0) {
    return;
  }
  if (per_channel_ && shape.size() < 2) {
    throw Error(ErrorKind::invalid_argument, "a tensor of shape " + to_text(shape) +
                                                 " has no channels; expected 2 axes or more");
  }
  const Granularity granularity =
      per_channel_ ? Granularity(PerChannel{options_.ch_axis}) : Granularity(PerTensor{});
  const UnitGrid grid = unit_grid(granularity, shape, Role::activation);
  const Ranges batch = measure_range(x, grid, options_.policy, threads);
  if (!fresh() && batch.min.size() != min_.size()) {
    throw Error(ErrorKind::invalid_argument, "a tensor with " + std::to_string(batch.min.size()) +
                                                 " channels after one with " +
                                                 std::to_string(min_.size()));
  }
  nan_count_ += batch.nan_count;
  infinity_count_ += batch.infinity_count;
  combine(batch.min, batch.max);
}

void RunningMinMaxObserver::combine(const std::vector<float>& min, const std::vector<float>& max) {
  if (fresh()) {
    min_ = min;
    max_ = max;
    return;
  }
  const auto share = static_cast<float>(options_.averaging_constant);
  for (std::size_t i = 0; i < min.size(); ++i) {
    min_[i] = moving_average_ ? min_[i] + share * (min[i] - min_[i]) : smaller(min[i], min_[i]);
    max_[i] = moving_average_ ? max_[i] + share * (max[i] - max_[i]) : larger(max[i], max_[i]);
  }
}

ObserverQParams RunningMinMaxObserver::calculate_qparams() const {
  if (fresh()) {
    return {.scale = {1.0F}, .zero_point = {0}};
  }
  return qparams_from(min_, max_);
}

Json RunningMinMaxObserver::state() const {
  return {{"min_val", internal::numbers_json(min_)},
          {"max_val", internal::numbers_json(max_)},
          {"nan_count", nan_count_},
          {"infinity_count", infinity_count_}};
}

void RunningMinMaxObserver::load_state(const Json& state) {
  std::vector<float> min = internal::read_numbers(state, "min_val");
  std::vector<float> max = internal::read_numbers(state, "max_val");
  require(min.size() == max.size() && (per_channel_ || min.size() == 1),
          "saved state: " + std::to_string(min.size()) + " minima and " +
              std::to_string(max.size()) + " maxima do not fit this observer");
  nan_count_ = internal::read_count(state, "nan_count");
  infinity_count_ = internal::read_count(state, "infinity_count");
  min_ = std::move(min);
  max_ = std::move(max);
}

void RunningMinMaxObserver::merge(const Observer& other) {
  const auto* same = dynamic_cast<const RunningMinMaxObserver*>(&other);
  require(same != nullptr && same->per_channel_ == per_channel_ &&
              same->moving_average_ == moving_average_,
          "statistics of observers merge only if their classes and options are equal");
  require_same_options(other);
  if (moving_average_) {
    throw Error(ErrorKind::unsupported,
                "a moving average depends on the order of batches and can't be merged; use a "
                "min-max observer");
  }
  if (same->fresh()) {
    return;
  }
  require(fresh() || min_.size() == same->min_.size(),
          "statistics of " + std::to_string(same->min_.size()) + " channels can't be merged into " +
              std::to_string(min_.size()));
  nan_count_ += same->nan_count_;
  infinity_count_ += same->infinity_count_;
  combine(same->min_, same->max_);
}

}  // namespace halfstep
