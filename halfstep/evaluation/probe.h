#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/engines/engine.h"

namespace halfstep {

/// Power of signal and error, in double. SQNR = 10 log10(sum x^2 / sum (x - y)^2) dB; infinity when
/// equal.
struct ErrorPower {
  double signal = 0;
  double error = 0;
  std::uint64_t values = 0;  ///< that were compared: finite in the reference
  [[nodiscard]] double sqnr_db() const noexcept;
};
/// Shapes:  equal. Element types may differ (float16 beside float32).
/// Edge:    values that are not finite in `reference` are left out; NaN only in `actual` is an
/// infinite error. Errors:  invalid_argument if the shapes differ; unsupported for types without
/// numeric values.
[[nodiscard]] ErrorPower error_power(const Tensor& reference, const Tensor& actual);

/// Remembers an evenly spread part of each watched tensor of a few samples of the float run, so
/// that the quantized run (another session, later) can be compared tensor by tensor without holding
/// either whole.
class Probe {
 public:
  explicit Probe(std::size_t tensors, std::size_t values_per_tensor = 1024);
  /// Positions are spread evenly over the row-major order of the logical shape, so they don't
  /// depend on the layout that the engine chose.
  void remember(std::size_t tensor, std::size_t sample, const WatchedValue& value);
  /// Adds the error of the same positions of the quantized run.
  /// Errors: invalid_argument if this tensor and sample were not remembered or the size differs.
  void compare(std::size_t tensor, std::size_t sample, const WatchedValue& value);
  [[nodiscard]] const std::vector<ErrorPower>& errors() const noexcept { return errors_; }

 private:
  std::size_t values_per_tensor_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<float>> remembered_{};
  std::vector<ErrorPower> errors_;
};

}  // namespace halfstep
