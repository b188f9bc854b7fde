#pragma once

#include <vector>

#include "halfstep/core/histogram.h"
#include "halfstep/core/spec.h"

namespace halfstep {

/// The squared error that quantization with a range would make on the values of a histogram; see
/// search_range for the formula. Up to a factor, the same for all ranges.
class RangeError {
 public:
  /// `clipping_weight`: of errors of values beyond the range.
  RangeError(const Histogram& histogram, const ResolvedSpec& spec, double clipping_weight);
  /// low <= 0 <= high.
  [[nodiscard]] double of(double low, double high) const;

 private:
  [[nodiscard]] double rounding(std::size_t begin, std::size_t end, double low, double high) const;
  [[nodiscard]] double distance_to_code(double value, double scale) const;

  double clipping_weight_;
  double steps_;                   // quant_max - quant_min
  std::vector<float> codes_{};     // values of a float format, ascending, none negative
  bool by_value_;                  // every bin's distance to its code is looked at
  std::vector<double> middles_{};  // of the bins that hold values
  std::vector<double> counts_{};
  std::vector<double> sums_[3]{};  // of count * middle^k over the bins before
};

}  // namespace halfstep
