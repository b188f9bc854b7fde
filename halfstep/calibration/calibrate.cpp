#include "halfstep/calibration/calibrate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include <malloc.h>

#include "halfstep/calibration/float_session.h"
#include "halfstep/core/kernels/minmax/minmax.h"
#include "halfstep/engines/watched.h"
#include "halfstep/support/diagnostic_text.h"

namespace halfstep {
namespace {

/// Range and counts of the finite values of one tensor in one sample.
struct BatchRange {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  std::int64_t values = 0;
  std::int64_t nan_count = 0;
  std::int64_t infinity_count = 0;
  [[nodiscard]] bool has_finite() const noexcept { return min <= max; }
};

BatchRange measure(const WatchedValue& value) {
  BatchRange range;
  for_each_stretch(value, [&](std::span<const float> stretch) {
    const MinMax found = minmax(stretch.data(), stretch.size());
    const auto count = static_cast<std::int64_t>(stretch.size());
    range.values += count;
    range.nan_count += found.nan_count;
    range.infinity_count += found.infinity_count;
    if (found.nan_count + found.infinity_count < count) {
      range.min = std::min(range.min, found.min);
      range.max = std::max(range.max, found.max);
    }
  });
  return range;
}

/// The range that a calculator other than minmax finds in the finite values, in logical order; in
/// one axis if others had to be left out.
Ranges measure_with(const RangeCalculatorBase& calculator, const WatchedValue& value,
                    bool all_finite) {
  std::vector<float> values(static_cast<std::size_t>(element_count(value.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = value.at(static_cast<std::int64_t>(i));
  }
  if (!all_finite) {
    std::erase_if(values, [](float x) { return !std::isfinite(x); });
  }
  const Shape shape = all_finite ? value.shape : Shape{static_cast<std::int64_t>(values.size())};
  return calculator.measure(TensorView<const float>(values.data(), shape),
                            unit_grid(PerTensor{}, shape, Role::activation), 1);
}

/// What is known about one tensor so far.
class Observer {
 public:
  explicit Observer(const ObservedTensor& tensor) : tensor_(&tensor) {
    // The range over everything is kept here: no call and no allocation for each sample.
    if (tensor.spec->qparam_calculator_cls != "global_minmax") {
      calculator_ = make_qparams_calculator(tensor.spec);
    }
    if (tensor.spec->range_calculator_cls != "minmax") {
      range_calculator_ = make_range_calculator(tensor.spec);
    }
  }

  /// Errors: those of calculators that users wrote, naming the tensor.
  void add(const WatchedValue& value, const std::string& where) {
    named([&] { take(value, where); });
  }

  [[nodiscard]] TensorStatistics statistics() const {
    TensorStatistics result{
        .values = values_, .nan_count = nan_count_, .infinity_count = infinity_count_};
    if (min_ > max_) {
      result.range = {.min = {0}, .max = {0}};
    } else if (calculator_) {
      named([&] { result.range = calculator_->range(); });
    } else {
      result.range = {.min = {min_}, .max = {max_}};
    }
    result.range.nan_count = nan_count_;
    result.range.infinity_count = infinity_count_;
    return result;
  }

  void report(Diagnostics& diagnostics) const {
    const std::int64_t left_out = nan_count_ + infinity_count_;
    if (left_out > 0) {
      diagnostics.push_back(
          {.severity = Severity::warning,
           .rule = "calibration/non-finite",
           .subject = tensor_->name,
           .message = std::to_string(nan_count_) + " NaN and " + std::to_string(infinity_count_) +
                      " infinities among " + counted(static_cast<std::uint64_t>(values_), "value") +
                      ", first in " + first_non_finite_ + "; left out of the range" +
                      (left_out == values_ ? ", so nothing is known about it" : "")});
    } else if (values_ == 0) {
      diagnostics.push_back({.severity = Severity::warning,
                             .rule = "calibration/no-values",
                             .subject = tensor_->name,
                             .message = "the tensor was empty in every sample; nothing is known "
                                        "about its range"});
    }
  }

 private:
  template <typename Work>
  void named(Work work) const {
    try {
      work();
    } catch (const Error& error) {
      throw error.within("tensor \"" + tensor_->name + '"');
    }
  }

  void take(const WatchedValue& value, const std::string& where) {
    BatchRange batch = measure(value);
    values_ += batch.values;
    if (batch.nan_count + batch.infinity_count > 0 && first_non_finite_.empty()) {
      first_non_finite_ = where;
    }
    nan_count_ += batch.nan_count;
    infinity_count_ += batch.infinity_count;
    if (!batch.has_finite()) {
      return;
    }
    if (range_calculator_) {
      const bool all_finite = batch.nan_count + batch.infinity_count == 0;
      const Ranges found = measure_with(*range_calculator_, value, all_finite);
      batch.min = found.min.at(0);
      batch.max = found.max.at(0);
    }
    min_ = std::min(min_, batch.min);
    max_ = std::max(max_, batch.max);
    if (calculator_) {
      calculator_->update({.min = {batch.min}, .max = {batch.max}});
    }
  }

  const ObservedTensor* tensor_;
  std::unique_ptr<QParamsCalculatorBase> calculator_{};
  std::unique_ptr<RangeCalculatorBase> range_calculator_{};
  float min_ = std::numeric_limits<float>::infinity();
  float max_ = -std::numeric_limits<float>::infinity();
  std::int64_t values_ = 0;
  std::int64_t nan_count_ = 0;
  std::int64_t infinity_count_ = 0;
  std::string first_non_finite_{};
};

/// One pass over the samples.
class Calibration {
 public:
  Calibration(std::span<const ObservedTensor> tensors, const CalibrateOptions& options,
              SampleSource& samples)
      : options_(options), samples_(samples), observers_(tensors.begin(), tensors.end()) {}

  void run(Session& session, Progress& progress) {
    while (auto sample = samples_.next()) {
      progress.throw_if_cancelled();
      where_ = samples_.where();
      run_one(session, *sample);
      progress.update(++count_);
    }
    if (count_ == 0) {
      throw Error(ErrorKind::invalid_file,
                  "the calibration data holds no sample; give at least one");
    }
  }

  void observe(std::size_t i, const WatchedValue& value) {
    observers_[i].add(value, where_);
    if (options_.on_value && count_ < options_.hook_samples) {
      options_.on_value(i, count_, value);
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const std::vector<Observer>& observers() const noexcept { return observers_; }

 private:
  void run_one(Session& session, const Sample& sample) {
    std::vector<Tensor> outputs;
    try {
      outputs = session.run(sample);
    } catch (const Error& error) {
      throw error.kind() == ErrorKind::interrupted ? error : error.within(where_);
    }
    if (options_.on_outputs && count_ < options_.hook_samples) {
      options_.on_outputs(count_, sample, outputs);
    }
  }

  const CalibrateOptions& options_;
  SampleSource& samples_;
  std::vector<Observer> observers_;
  std::string where_{};
  std::size_t count_ = 0;
};

}  // namespace

CalibrationResult calibrate(const Model& model, Engine& engine, SampleSource& samples,
                            std::span<const ObservedTensor> tensors,
                            const CalibrateOptions& options, Progress& progress,
                            Diagnostics& diagnostics) {
  Calibration calibration(tensors, options, samples);
  SessionOptions session_options{.threads = options.threads, .progress = &progress};
  for (const ObservedTensor& tensor : tensors) {
    session_options.watch.push_back(tensor.name);
  }
  session_options.on_value = [&](std::size_t i, const WatchedValue& value) {
    calibration.observe(i, value);
  };
  CalibrationResult result;
  {
    const FloatSession opened = open_float_session(model, engine, session_options, diagnostics);
    result.widened = opened.widened;
    progress.begin("calibrate", samples.size().value_or(0));
    calibration.run(*opened.session, progress);
    progress.end();
    result.outputs = opened.session->outputs();
  }
  // Buffers of the session go back to the system before the next phase takes its own.
  malloc_trim(0);
  result.samples = calibration.count();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Observer& observer = calibration.observers()[i];
    result.statistics.emplace(tensors[i].name, observer.statistics());
    observer.report(diagnostics);
  }
  return result;
}

}  // namespace halfstep
