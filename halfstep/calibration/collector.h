#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/calibration/statistics.h"
#include "halfstep/engines/engine.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Watches one tensor go by and keeps what it showed. Memory does not grow with the samples.
class Collector {
 public:
  /// `start`: what earlier runs saw, to go on from; null: nothing.
  explicit Collector(const ObservedTensor& tensor, const TensorStatistics* start = nullptr);

  /// A value of the tensor that holds `samples` samples, one after the other along its first axis
  /// (if that divides). `where` stands in messages.
  /// Errors: those of calculators that users wrote, naming the tensor.
  void add(const WatchedValue& value, std::int64_t samples, const std::string& where);

  /// The range so far is the one that `statistics().moved` starts from.
  void mark();
  [[nodiscard]] TensorStatistics statistics() const;
  /// What users should know about the values: NaN, infinities, masks, no values at all, channels
  /// that are always 0.
  void report(Diagnostics& diagnostics) const;

 private:
  struct Batch;
  [[nodiscard]] static Batch measure(const WatchedValue& value);
  void take(const WatchedValue& value);
  void count_in(const WatchedValue& value, const Batch& batch);
  static void take_channels(const WatchedValue& value, int axis, ChannelActivity& channels);
  [[nodiscard]] std::string inactive_channels() const;
  [[nodiscard]] TensorStatistics collected() const;
  template <typename Work>
  void named(Work work) const;

  const ObservedTensor* tensor_;
  TensorStatistics seen_{};
  std::unique_ptr<QParamsCalculatorBase> calculator_{};
  std::unique_ptr<RangeCalculatorBase> range_calculator_{};
  std::optional<Ranges> marked_{};
  std::vector<float> buffer_{};
  std::string first_non_finite_{};
};

}  // namespace halfstep
