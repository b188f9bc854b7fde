#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/quantize.h"
#include "halfstep/core/registry.h"
#include "halfstep/core/spec.h"

namespace halfstep {

/// The open family behind QuantizationSpec.qparam_calculator_cls: turns the range of each batch
/// into running statistics. Built-ins: static, moving_average, global_minmax, dynamic ("default" by
/// role).
///
/// Every built-in joins zero and the fixed bounds of the spec into a batch before anything else;
/// one of a user must do so itself if it is to honour float_range.
class QParamsCalculatorBase {
 public:
  virtual ~QParamsCalculatorBase() = default;
  /// One batch was seen; `batch` has one entry per unit, zero not forced in.
  /// Errors: invalid_argument if it has another number of units than the batches before.
  virtual void update(const Ranges& batch) = 0;
  /// The range that parameters are chosen from. Errors: unsupported before the first batch.
  [[nodiscard]] virtual Ranges range() const = 0;
  virtual void reset() = 0;

  /// The same as update and range, for classes that can do without copies of many units.
  virtual void take(Ranges&& batch) { update(batch); }
  virtual void with_range(const std::function<void(const Ranges&)>& work) const { work(range()); }

  /// What was seen, for `load_state` of the same class; exact.
  [[nodiscard]] virtual Json state() const;
  /// Errors: invalid_argument if `state` is not what `state()` of this class wrote.
  virtual void load_state(const Json& state);
  /// Adds what `other`, of the same class, saw of other batches: the order doesn't matter.
  /// Errors: unsupported where the order of batches matters (moving_average, static).
  virtual void merge(const QParamsCalculatorBase& other);
};

/// The open family behind QuantizationSpec.range_calculator_cls: the range of one batch.
/// Built-ins: minmax, and percentile, entropy, mse, sqnr of search_range, which look at the values
/// of one batch. Calibration shows these all samples as one batch.
class RangeCalculatorBase {
 public:
  virtual ~RangeCalculatorBase() = default;
  /// One entry for each unit of `grid`; zero is not joined.
  [[nodiscard]] virtual Ranges measure(const FloatView& x, const UnitGrid& grid,
                                       int threads) const = 0;
};

/// The open family behind QuantizationSpec.fake_quantize_cls: how values become codes and back.
/// Built-in: default, the functions of quantize.h.
class FakeQuantizeImplBase {
 public:
  virtual ~FakeQuantizeImplBase() = default;
  virtual void quantize(const FloatView& x, const Mapping& mapping, std::span<std::byte> q,
                        int threads) const;
  virtual void dequantize(std::span<const std::byte> q, const Mapping& mapping, const FloatSpan& x,
                          int threads) const;
  virtual void fake_quantize(const FloatView& x, const Mapping& mapping, const FloatSpan& y,
                             int threads) const;
  /// Codes and values at once: here one after the other; "default" needs one pass over memory.
  virtual void quantize_and_fake_quantize(const FloatView& x, const Mapping& mapping,
                                          std::span<std::byte> q, const FloatSpan& y,
                                          int threads) const;
};

using QParamsCalculatorMaker =
    std::function<std::unique_ptr<QParamsCalculatorBase>(const ResolvedSpec&)>;
using RangeCalculatorMaker =
    std::function<std::unique_ptr<RangeCalculatorBase>(const ResolvedSpec&)>;
using FakeQuantizeMaker = std::function<std::unique_ptr<FakeQuantizeImplBase>(const ResolvedSpec&)>;

/// The families of this process. Makers get the spec, with get_extra_args in `extra`.
[[nodiscard]] Registry<QParamsCalculatorMaker>& qparams_calculators();
[[nodiscard]] Registry<RangeCalculatorMaker>& range_calculators();
[[nodiscard]] Registry<FakeQuantizeMaker>& fake_quantizers();

/// Errors: invalid_argument naming the calculator and the closest known name.
[[nodiscard]] std::unique_ptr<QParamsCalculatorBase> make_qparams_calculator(
    const ResolvedSpec& spec);
[[nodiscard]] std::unique_ptr<RangeCalculatorBase> make_range_calculator(const ResolvedSpec& spec);
[[nodiscard]] std::unique_ptr<FakeQuantizeImplBase> make_fake_quantizer(const ResolvedSpec& spec);

/// The name "default" stands for with `role`: static for weights and lookup tables,
/// moving_average for activations. Other names are themselves.
[[nodiscard]] std::string_view qparams_calculator_name(const QuantizationSpec& spec,
                                                       Role role) noexcept;

}  // namespace halfstep
