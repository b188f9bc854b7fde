#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/core/calculators.h"
#include "halfstep/core/float_view.h"
#include "halfstep/core/quantize.h"
#include "halfstep/core/spec.h"

namespace halfstep {

/// Parameters as stored and returned: one of each per unit, in the shape `shape`, whose rank is the
/// tensor's and whose extents are shape / block size.
struct StoredQParams {
  Shape shape{};
  std::vector<float> scale{};
  std::vector<std::int32_t> zero_point{};  ///< empty for float formats
  std::vector<float> minval{};             ///< empty for float formats
  /// quant_min under Formulation::minval: x' = (q - quant_offset) * scale + minval.
  std::optional<std::int32_t> quant_offset{};
};

/// Observes tensors, keeps the quantization parameters that follow, and applies them: the
/// counterpart of coreai_opt's fake quantizer. Range calculator, qparams calculator and the
/// quantization itself come from the registries by the names in the spec.
///
/// Fresh, the observer and the fake quantization are on. With both bounds of float_range given the
/// parameters stay after the first batch. A tensor whose blocks do not divide is handled as the
/// spec's uneven_blocks says: `skip` turns the quantizer off for good (`disabled`), and tensors
/// pass through. Not for use by several threads at once.
class FakeQuantize {
 public:
  /// Errors: invalid_argument for a spec that breaks a rule.
  FakeQuantize(const QuantizationSpec& spec, Role role);
  explicit FakeQuantize(const ResolvedSpec& spec);

  /// Observes x if the observer is on, then writes x fake-quantized (or unchanged) to y; y may be
  /// x. Errors: invalid_argument for an empty tensor, an axis or block that does not fit, another
  ///         parameter shape than before; unsupported with the observer off before any batch.
  void forward(const FloatView& x, const FloatSpan& y, int threads = 1);
  /// The same, and the codes of y to q, in one pass over memory.
  /// Errors: also unsupported where there are no codes: the fake quantization is off, or the
  ///         quantizer turned itself off.
  void forward_with_codes(const FloatView& x, std::span<std::byte> q, const FloatSpan& y,
                          int threads = 1);
  /// Observes x only.
  void observe(const FloatView& x, int threads = 1);

  /// Errors: unsupported before the first batch.
  [[nodiscard]] StoredQParams calculate_qparams() const;
  /// With the stored parameters; the shape may differ from the observed ones where the parameters
  /// fit.
  void quantize(const FloatView& x, std::span<std::byte> q, int threads = 1) const;
  void dequantize(std::span<const std::byte> q, const FloatSpan& x, int threads = 1) const;
  void fake_quantize(const FloatView& x, const FloatSpan& y, int threads = 1) const;
  /// The stored parameters for a tensor of `shape`.
  [[nodiscard]] Mapping mapping(const Shape& shape) const;

  void enable_observer() noexcept { observer_enabled_ = true; }
  void disable_observer() noexcept { observer_enabled_ = false; }
  void enable_fake_quant() noexcept { fake_quant_enabled_ = true; }
  void disable_fake_quant() noexcept { fake_quant_enabled_ = false; }
  [[nodiscard]] bool observer_enabled() const noexcept { return observer_enabled_; }
  [[nodiscard]] bool fake_quant_enabled() const noexcept { return fake_quant_enabled_; }
  [[nodiscard]] bool disabled() const noexcept { return disabled_; }
  [[nodiscard]] bool observed() const noexcept { return !counts_.empty() || scalar_; }
  [[nodiscard]] const ResolvedSpec& spec() const noexcept { return spec_; }
  /// Errors: unsupported after the first batch.
  void set_granularity(const Granularity& granularity);
  /// The running range, zero and bounds included. Errors: unsupported before the first batch.
  [[nodiscard]] Ranges range() const { return calculator_->range(); }

  /// Back to the fresh state; switches and `disabled` too.
  void reset();
  /// Everything above, exact; load_state works on a fresh quantizer of the same spec.
  [[nodiscard]] Json state() const;
  void load_state(const Json& state);
  /// Adds the statistics of a quantizer of the same spec that saw other batches.
  /// Errors: unsupported where the order of batches matters.
  void merge(const FakeQuantize& other);

 private:
  void update(const FloatView& x, const UnitGrid& grid, int threads);
  void check_counts(const UnitGrid& grid) const;
  void store_qparams(const UnitGrid& grid);
  [[nodiscard]] bool frozen() const;
  void require_observed() const;
  /// With minval and zero points whatever the formulation.
  [[nodiscard]] QParams all_qparams() const;
  /// Calls `work` with the mapping for a tensor of `shape`.
  template <typename Work>
  void with_mapping(const Shape& shape, Work work) const;

  ResolvedSpec spec_;
  std::unique_ptr<RangeCalculatorBase> range_calculator_;
  std::unique_ptr<QParamsCalculatorBase> calculator_;
  std::unique_ptr<FakeQuantizeImplBase> implementation_;
  Shape counts_{};       ///< shape of the parameters; empty before the first batch
  bool scalar_ = false;  ///< a batch of rank 0 was seen: counts_ stays empty
  /// To the last batch, without parameters that are not needed; void before the first one.
  Mapping fitted_;
  bool observer_enabled_ = true;
  bool fake_quant_enabled_ = true;
  bool disabled_ = false;
};

}  // namespace halfstep
