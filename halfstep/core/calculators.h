#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "halfstep/core/quantize.h"
#include "halfstep/core/spec.h"

namespace halfstep {

/// The open family behind QuantizationSpec.qparam_calculator_cls: turns the range of each batch into
/// running statistics. Built-ins: static, moving_average, global_minmax, dynamic ("default" by role).
class QParamsCalculatorBase {
 public:
  virtual ~QParamsCalculatorBase() = default;
  /// One batch was seen; `batch` has one entry per unit, zero not forced in.
  virtual void update(const Ranges& batch) = 0;
  /// The range that parameters are chosen from. Errors: invalid_argument before the first batch.
  [[nodiscard]] virtual Ranges range() const = 0;
  virtual void reset() = 0;
};

/// Errors: invalid_argument naming the calculator and the closest known name.
[[nodiscard]] std::unique_ptr<QParamsCalculatorBase> make_qparams_calculator(
    const ResolvedSpec& spec);

}  // namespace halfstep
