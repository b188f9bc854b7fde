#include "halfstep/calibration/calibrate.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <malloc.h>

#include "halfstep/calibration/collector.h"
#include "halfstep/calibration/float_session.h"

namespace halfstep {
namespace {

/// Whether the first axis of a model's inputs counts samples.
bool has_batch_axis(std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  const auto free = [](const TensorInfo& tensor, std::size_t least_rank) {
    return tensor.shape.size() >= least_rank && tensor.shape[0] < 0;
  };
  return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&](const TensorInfo& input) {
    return free(input, 2);
  }) && std::all_of(outputs.begin(), outputs.end(), [&](const TensorInfo& output) {
    return free(output, 1);
  });
}

/// How many samples a batch holds; 1 if its inputs do not agree.
std::int64_t batch_size(const Sample& sample) {
  std::int64_t size = 0;
  for (const auto& [name, tensor] : sample) {
    const std::int64_t extent = tensor.shape.empty() ? 1 : tensor.shape[0];
    if (size != 0 && extent != size) {
      return 1;
    }
    size = extent;
  }
  return std::max<std::int64_t>(size, 1);
}

/// One pass over the samples.
class Calibration {
 public:
  Calibration(std::span<const ObservedTensor> tensors, const CalibrateOptions& options,
              SampleSource& samples)
      : options_(options), samples_(samples) {
    for (const ObservedTensor& tensor : tensors) {
      const TensorStatistics* start = nullptr;
      if (options.start != nullptr) {
        const auto found = options.start->find(tensor.name);
        start = found == options.start->end() ? nullptr : &found->second;
      }
      collectors_.emplace_back(tensor, start);
    }
  }

  void run(Session& session, Progress& progress) {
    batches_ = has_batch_axis(session.inputs(), session.outputs());
    const std::optional<std::size_t> size = samples_.size();
    while (auto sample = samples_.next()) {
      progress.throw_if_cancelled();
      where_ = samples_.where();
      if (size && *size > 1 && count_ == *size - last_tenth(*size)) {
        for (Collector& collector : collectors_) {
          collector.mark();
        }
      }
      batch_ = batches_ ? batch_size(*sample) : 1;
      run_one(session, *sample);
      progress.update(++count_);
      single_ += static_cast<std::size_t>(batch_);
    }
    if (count_ == 0) {
      throw Error(ErrorKind::invalid_file,
                  "the calibration data holds no sample; give at least one");
    }
  }

  void observe(std::size_t i, const WatchedValue& value) {
    collectors_[i].add(value, batch_, where_);
    if (options_.on_value && count_ < options_.hook_samples) {
      options_.on_value(i, count_, value);
    }
  }

  /// Batches count as their samples.
  [[nodiscard]] std::size_t samples() const noexcept { return single_; }
  [[nodiscard]] const std::vector<Collector>& collectors() const noexcept { return collectors_; }

 private:
  static std::size_t last_tenth(std::size_t samples) {
    return std::max<std::size_t>(samples / 10, 1);
  }

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
  std::vector<Collector> collectors_{};
  std::string where_{};
  std::size_t count_ = 0;  // of what the source gave
  std::size_t single_ = 0;
  bool batches_ = false;
  std::int64_t batch_ = 1;
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
  result.samples = calibration.samples();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Collector& collector = calibration.collectors()[i];
    result.statistics.emplace(tensors[i].name, collector.statistics());
    collector.report(diagnostics);
  }
  return result;
}

}  // namespace halfstep
