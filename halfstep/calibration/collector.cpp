#include "halfstep/calibration/collector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "halfstep/core/kernels/minmax/minmax.h"
#include "halfstep/engines/watched.h"
#include "halfstep/support/diagnostic_text.h"

namespace halfstep {
namespace {

/// Short stretches of memory are joined up to this many values.
constexpr std::size_t kJoined = 4096;
constexpr std::size_t kNamedChannels = 5;

bool is_value(float x) { return std::abs(x) < kMaskMagnitude; }  // false for NaN

/// Sample number `i` of `count`.
WatchedValue part(const WatchedValue& value, std::int64_t i, std::int64_t count) {
  WatchedValue one = value;
  one.count = value.count / count;
  one.data = value.data + i * one.count;
  one.shape[0] = value.shape[0] / count;
  return one;
}

/// Calls `any(float)` for the values of channel `c` until it returns true.
template <typename Predicate>
bool any_in_channel(const WatchedValue& value, std::size_t axis, std::int64_t c, Predicate any) {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    (i < axis ? outer : inner) *= i == axis ? 1 : value.shape[i];
  }
  const std::int64_t block = value.channel_block;
  const std::int64_t channels = (value.shape[axis] + block - 1) / block * block;
  for (std::int64_t o = 0; o < outer; ++o) {
    const float* const start = value.data + (o * channels + c / block * block) * inner + c % block;
    for (std::int64_t i = 0; i < inner; ++i) {
      if (any(start[i * block])) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

/// What one sample shows.
struct Collector::Batch {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  std::int64_t values = 0, nan_count = 0, infinity_count = 0, mask_count = 0;
  bool mask_below = false, mask_above = false;
  [[nodiscard]] std::int64_t left_out() const { return nan_count + infinity_count + mask_count; }

  void add(std::span<const float> stretch) {
    const MinMax found = minmax(stretch.data(), stretch.size());
    values += static_cast<std::int64_t>(stretch.size());
    if (found.nan_count + found.infinity_count == 0 && is_value(found.min) && is_value(found.max)) {
      min = std::min(min, found.min);
      max = std::max(max, found.max);
      return;
    }
    for (const float x : stretch) {
      if (is_value(x)) {
        min = std::min(min, x + 0.0F);
        max = std::max(max, x + 0.0F);
      } else {
        ++(std::isnan(x) ? nan_count : std::isinf(x) ? infinity_count : mask_count);
        mask_below = mask_below || x < 0;
        mask_above = mask_above || x > 0;
      }
    }
  }
};

Collector::Batch Collector::measure(const WatchedValue& value) {
  Batch batch;
  for_each_stretch(value, [&](std::span<const float> stretch) {
    if (!stretch.empty()) {
      batch.add(stretch);
    }
  });
  return batch;
}

Collector::Collector(const ObservedTensor& tensor, const TensorStatistics* start)
    : tensor_(&tensor) {
  if (start != nullptr) {
    seen_ = *start;
  }
  if (needs_histogram(tensor.spec)) {
    require(start == nullptr || seen_.values == 0 || seen_.histogram,
            "tensor \"" + tensor.name +
                "\": the statistics to go on from hold no histogram, which " +
                tensor.spec->range_calculator_cls + " needs");
    if (!seen_.histogram) {
      seen_.histogram.emplace();
    }
  }
  // The range over everything is kept here: no call and no allocation for each sample.
  const std::string calculator = kept_calculator(tensor.spec);
  if (!calculator.empty()) {
    calculator_ = make_qparams_calculator(tensor.spec);
    if (tensor.spec->range_calculator_cls != "minmax") {
      range_calculator_ = make_range_calculator(tensor.spec);
    }
    if (start != nullptr && start->values > 0) {
      named([&] {
        require(start->calculator == calculator,
                "the statistics to go on from were not collected for " + calculator);
        calculator_->load_state(start->calculator_state);
      });
    }
    seen_.calculator = calculator;
  }
  if (tensor.channel_axis && start == nullptr) {
    seen_.channels.emplace();
  }
}

template <typename Work>
void Collector::named(Work work) const {
  try {
    work();
  } catch (const Error& error) {
    throw error.within("tensor \"" + tensor_->name + '"');
  }
}

void Collector::add(const WatchedValue& value, std::int64_t samples, const std::string& where) {
  const std::int64_t left_out = seen_.nan_count + seen_.infinity_count + seen_.mask_count;
  named([&] {
    const bool splits =
        samples > 1 && !value.shape.empty() && value.shape[0] > 0 && value.shape[0] % samples == 0;
    for (std::int64_t i = 0; i < (splits ? samples : 1); ++i) {
      take(splits ? part(value, i, samples) : value);
    }
  });
  if (first_non_finite_.empty() &&
      seen_.nan_count + seen_.infinity_count + seen_.mask_count > left_out) {
    first_non_finite_ = where;
  }
}

void Collector::take(const WatchedValue& value) {
  Batch batch = measure(value);
  seen_.values += batch.values;
  seen_.nan_count += batch.nan_count;
  seen_.infinity_count += batch.infinity_count;
  seen_.mask_count += batch.mask_count;
  seen_.mask_below = seen_.mask_below || batch.mask_below;
  seen_.mask_above = seen_.mask_above || batch.mask_above;
  if (seen_.channels && tensor_->channel_axis) {
    take_channels(value, *tensor_->channel_axis, *seen_.channels);
  }
  if (batch.min > batch.max) {
    return;
  }
  seen_.lowest.add(0.0F - batch.min);
  seen_.highest.add(batch.max);
  seen_.min = std::min(seen_.min, batch.min);
  seen_.max = std::max(seen_.max, batch.max);
  if (seen_.histogram) {
    count_in(value, batch);
  }
  if (range_calculator_) {
    std::vector<float> values(static_cast<std::size_t>(element_count(value.shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = value.at(static_cast<std::int64_t>(i));
    }
    const bool all = batch.left_out() == 0;
    if (!all) {
      std::erase_if(values, [](float x) { return !is_value(x); });
    }
    const Shape shape = all ? value.shape : Shape{static_cast<std::int64_t>(values.size())};
    const Ranges found =
        range_calculator_->measure(TensorView<const float>(values.data(), shape),
                                   unit_grid(PerTensor{}, shape, Role::activation), 1);
    batch.min = found.min.at(0);
    batch.max = found.max.at(0);
  }
  if (calculator_) {
    calculator_->update({.min = {batch.min}, .max = {batch.max}});
  }
}

void Collector::count_in(const WatchedValue& value, const Batch& batch) {
  const auto flush = [&](std::size_t keep) {
    if (buffer_.size() > keep) {
      seen_.histogram->add(buffer_, batch.min, batch.max);
      buffer_.clear();
    }
  };
  const bool all = batch.left_out() == 0;
  for_each_stretch(value, [&](std::span<const float> stretch) {
    if (all && stretch.size() >= kJoined) {
      seen_.histogram->add(stretch, batch.min, batch.max);
      return;
    }
    for (const float x : stretch) {
      if (all || is_value(x)) {
        buffer_.push_back(x);
      }
    }
    flush(kJoined);
  });
  flush(0);
}

void Collector::take_channels(const WatchedValue& value, int axis, ChannelActivity& channels) {
  const auto rank = static_cast<int>(value.shape.size());
  axis += axis < 0 ? rank : 0;
  // Blocked layouts are those of images: channels are axis 1.
  if (axis < 0 || axis >= rank || (value.channel_block > 1 && axis != 1)) {
    channels = {.active = {}, .varies = true};
  }
  if (channels.varies || value.count == 0) {
    return;
  }
  const auto extent = static_cast<std::size_t>(value.shape[static_cast<std::size_t>(axis)]);
  if (channels.active.empty()) {
    channels.active.assign(extent, 0);
  }
  if (channels.active.size() != extent) {
    channels = {.active = {}, .varies = true};
    return;
  }
  for (std::size_t c = 0; c < extent; ++c) {
    if (channels.active[c] == 0 &&
        any_in_channel(value, static_cast<std::size_t>(axis), static_cast<std::int64_t>(c),
                       [](float x) { return x != 0.0F; })) {
      channels.active[c] = 1;
    }
  }
}

TensorStatistics Collector::collected() const {
  TensorStatistics result = seen_;
  if (calculator_ && result.has_finite()) {
    try {
      result.calculator_state = calculator_->state();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) {
        throw;
      }
      // A calculator of a user that can't be saved; its range is all that is known.
    }
  }
  return result;
}

void Collector::mark() {
  named([&] {
    marked_ =
        calculator_ && seen_.has_finite() ? calculator_->range() : range_of(seen_, tensor_->spec);
  });
}

TensorStatistics Collector::statistics() const {
  TensorStatistics result = collected();
  named([&] {
    if (calculator_ && seen_.has_finite() && !only_masks(seen_)) {
      result.range = calculator_->range();
      result.range.nan_count = seen_.nan_count;
      result.range.infinity_count = seen_.infinity_count;
    } else {
      result.range = range_of(seen_, tensor_->spec);
    }
  });
  if (marked_) {
    const auto low = [](const Ranges& r) { return std::min<double>(r.min[0], 0); };
    const auto high = [](const Ranges& r) { return std::max<double>(r.max[0], 0); };
    const double width = high(result.range) - low(result.range);
    const double movement =
        std::abs(low(result.range) - low(*marked_)) + std::abs(high(result.range) - high(*marked_));
    result.moved = width > 0 ? movement / width : 0.0;
  }
  return result;
}

void Collector::report(Diagnostics& diagnostics) const {
  const auto say = [&](Severity severity, const char* rule, std::string message) {
    diagnostics.push_back({.severity = severity,
                           .rule = rule,
                           .subject = tensor_->name,
                           .message = std::move(message)});
  };
  const std::int64_t non_finite = seen_.nan_count + seen_.infinity_count;
  const std::string of_values =
      " among " + counted(static_cast<std::uint64_t>(seen_.values), "value");
  const std::string first = first_non_finite_.empty() ? "" : ", first in " + first_non_finite_;
  // Minus infinity alone is what attention puts where nothing shall be looked at.
  const bool masked = seen_.nan_count == 0 && !seen_.mask_above && non_finite < seen_.values;
  const std::int64_t masks = seen_.mask_count + (masked ? seen_.infinity_count : 0);
  if (non_finite > 0 && !masked) {
    say(Severity::warning, "calibration/non-finite",
        std::to_string(seen_.nan_count) + " NaN and " + std::to_string(seen_.infinity_count) +
            " infinities" + of_values + first + "; left out of the range" +
            (non_finite == seen_.values ? ", so nothing is known about it" : ""));
  } else if (seen_.values == 0) {
    say(Severity::warning, "calibration/no-values",
        "the tensor was empty in every sample; nothing is known about its range");
  }
  if (masks > 0 && !seen_.has_finite() && seen_.mask_count > 0) {
    say(Severity::warning, "calibration/mask",
        "all " + counted(static_cast<std::uint64_t>(seen_.values), "value") +
            " are infinite, beyond 1e30 or NaN, so nothing is known about its range");
  } else if (masks > 0) {
    say(Severity::note, "calibration/mask",
        counted(static_cast<std::uint64_t>(masks), "mask value") + of_values +
            " (infinite, or beyond 1e30)" + first + "; left out of the range, so " +
            (seen_.mask_below ? "the smallest code" : "the largest code") + " stands for them");
  }
  if (std::string text = inactive_channels(); !text.empty()) {
    say(Severity::note, "calibration/inactive-channels", std::move(text));
  }
}

/// Empty if there are none, or if all are: then the tensor is named as such.
std::string Collector::inactive_channels() const {
  const ChannelActivity channels = seen_.channels.value_or(ChannelActivity{});
  const std::vector<std::size_t> inactive = channels.inactive();
  if (inactive.empty() || inactive.size() == channels.active.size()) {
    return {};
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(inactive.size(), kNamedChannels); ++i) {
    list += (i == 0 ? "" : ", ") + std::to_string(inactive[i]);
  }
  return std::to_string(inactive.size()) + " of " + counted(channels.active.size(), "channel") +
         " were 0 in every sample: " + list + (inactive.size() > kNamedChannels ? ", ..." : "");
}

}  // namespace halfstep
