#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/calibration/calibrate.h"
#include "halfstep/calibration/recipe.h"
#include "halfstep/calibration/stats_file.h"
#include "halfstep/pipeline.h"

namespace halfstep {

/// The saved statistics that a job starts from or writes.
class JobStatistics {
 public:
  /// Reads what the request names. Errors: those of read_statistics and require_model.
  JobStatistics(const StatisticsRequest& request, const Model& model);

  /// Statistics take the place of samples.
  [[nodiscard]] bool given() const noexcept { return from_.has_value(); }
  /// Without a --method, that of the given or resumed statistics; `method` and `percentile` are the
  /// request's.
  void choose_method(Recipe& recipe, const std::string& method,
                     const std::optional<double>& percentile) const;

  /// The ranges of `needed` from the given statistics, and those of `helpful` that are there.
  /// Errors: invalid_argument naming the tensors that are missing.
  [[nodiscard]] CalibrationResult ranges(std::span<const ObservedTensor> needed,
                                         std::span<const ObservedTensor> helpful,
                                         Diagnostics& diagnostics) const;

  /// Samples of the file that a run goes on from.
  [[nodiscard]] std::size_t earlier_samples() const noexcept {
    return resumed_ ? resumed_->samples : 0;
  }
  /// What a run goes on from; null: nothing.
  /// Errors: invalid_argument if it was made in another way than the run.
  [[nodiscard]] const std::map<std::string, TensorStatistics>* start(
      std::span<const ObservedTensor> tensors, const Recipe& recipe,
      const std::string& engine) const;
  /// The file that a run gives.
  [[nodiscard]] StatisticsFile collected(const CalibrationResult& measured, const Recipe& recipe,
                                         const std::string& engine) const;

 private:
  [[nodiscard]] StatisticsSource source(const Recipe& recipe, const std::string& engine,
                                        bool widened) const;

  const StatisticsRequest& request_;
  std::string fingerprint_{};
  std::string graph_{};
  std::optional<StatisticsFile> from_{};
  std::optional<StatisticsFile> resumed_{};
};

/// How far the range of each planned tensor moved in the last tenth of the samples, largest first.
[[nodiscard]] std::vector<TensorMovement> movements(const CalibrationResult& measured,
                                                    std::span<const ObservedTensor> planned);

}  // namespace halfstep
