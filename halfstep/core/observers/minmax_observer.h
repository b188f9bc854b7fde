#pragma once

#include <span>
#include <vector>

#include "halfstep/core/observers/observer.h"

namespace halfstep {

/// What the four observers of running minima and maxima share.
class RunningMinMaxObserver : public Observer {
 public:
  void observe(const FloatView& x, int threads = 1) override;
  [[nodiscard]] ObserverQParams calculate_qparams() const override;
  void reset_min_max_vals() override;
  [[nodiscard]] std::span<const float> min_val() const override { return min_; }
  [[nodiscard]] std::span<const float> max_val() const override { return max_; }
  [[nodiscard]] Json state() const override;
  void load_state(const Json& state) override;
  void merge(const Observer& other) override;

 protected:
  RunningMinMaxObserver(const ObserverOptions& options, bool per_channel, bool moving_average);

 private:
  [[nodiscard]] bool fresh() const;
  void combine(const std::vector<float>& min, const std::vector<float>& max);

  bool per_channel_;
  bool moving_average_;
  std::vector<float> min_{}, max_{};
};

/// Running minimum and maximum of whole tensors.
class MinMaxObserver final : public RunningMinMaxObserver {
 public:
  explicit MinMaxObserver(const ObserverOptions& options = {})
      : RunningMinMaxObserver(options, false, false) {}
};

/// The same for each slice along ch_axis.
class PerChannelMinMaxObserver final : public RunningMinMaxObserver {
 public:
  explicit PerChannelMinMaxObserver(const ObserverOptions& options = {})
      : RunningMinMaxObserver(options, true, false) {}
};

/// min = min + averaging_constant * (batch minimum - min), likewise max; the first batch is copied.
class MovingAverageMinMaxObserver final : public RunningMinMaxObserver {
 public:
  explicit MovingAverageMinMaxObserver(const ObserverOptions& options = {})
      : RunningMinMaxObserver(options, false, true) {}
};

class MovingAveragePerChannelMinMaxObserver final : public RunningMinMaxObserver {
 public:
  explicit MovingAveragePerChannelMinMaxObserver(const ObserverOptions& options = {})
      : RunningMinMaxObserver(options, true, true) {}
};

}  // namespace halfstep
