#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "halfstep/core/float_view.h"
#include "halfstep/core/spec.h"
#include "halfstep/support/json.h"

namespace halfstep {

/// The types an observer of torch.ao.quantization takes, by torch's names.
enum class ObserverDtype : std::uint8_t {
  quint8,
  qint8,
  qint32,
  quint4x2,
  uint8,
  int8,
  int16,
  int32,
  uint16,
};
enum class ObserverScheme : std::uint8_t {
  per_tensor_affine,
  per_tensor_symmetric,
  per_channel_affine,
  per_channel_symmetric,
  per_channel_affine_float_qparams,
};
[[nodiscard]] std::string_view name(ObserverDtype dtype) noexcept;
[[nodiscard]] std::string_view name(ObserverScheme scheme) noexcept;
/// Errors: invalid_argument; for float8_e4m3fn and float8_e5m2 it says that torch gives them [0,
/// 15].
[[nodiscard]] ObserverDtype parse_observer_dtype(std::string_view name);
[[nodiscard]] ObserverScheme parse_observer_scheme(std::string_view name);

/// The arguments of torch's observers, with their defaults.
struct ObserverOptions {
  ObserverDtype dtype = ObserverDtype::quint8;
  std::optional<ObserverScheme> qscheme{};  ///< per_tensor_affine or per_channel_affine by class
  bool reduce_range = false;                ///< one bit less
  std::optional<std::int64_t> quant_min{};  ///< both or none
  std::optional<std::int64_t> quant_max{};
  double eps = 1.1920928955078125e-07;  ///< smallest scale
  std::int64_t ch_axis = 0;             ///< per channel
  double averaging_constant = 0.01;     ///< moving average
  bool is_dynamic = false;              ///< only min-max, or a moving average of constant 1
  int bins = 2048;                      ///< histogram
  Policy policy = Policy::reference;    ///< safe leaves NaN and infinities out and counts them
  bool operator==(const ObserverOptions&) const = default;
};

struct ObserverQParams {
  std::vector<float> scale{};
  std::vector<std::int64_t> zero_point{};
  std::vector<float> zero_point_float{};  ///< per_channel_affine_float_qparams only: instead
};

/// Watches tensors go by and chooses quantization parameters from what it saw.
///
/// Formula: with min0 = min(min, 0), max0 = max(max, 0)
///          symmetric  scale = max(max(-min0, max0) / ((quant_max - quant_min) / 2), eps);
///                     zero_point 0; quint8, uint8: 128, or the midpoint of a range given; uint16:
///                     32768
///          affine     scale = max((max0 - min0) / (quant_max - quant_min), eps);
///                     zero_point = clamp(quant_min - round(min0 / scale), quant_min, quant_max)
///          float_qparams  scale = (max - min) / (quant_max - quant_min), 1 where it is <= eps;
///                     zero_point = -min / scale, as a float
/// Edge:    before the first batch: scale 1, zero point 0. Equal min and max are no special case.
///          Policy::reference: a NaN sticks; the zero point that would follow from it is 0.
/// Source:  torch.ao.quantization.observer as of torch 2.13; docs list where its page differs
class Observer {
 public:
  virtual ~Observer() = default;
  /// An empty tensor is passed over.
  /// Errors: invalid_argument for a wrong rank or axis, or another channel count than before.
  virtual void observe(const FloatView& x, int threads = 1) = 0;
  /// Errors: invalid_argument if a minimum exceeds a maximum.
  [[nodiscard]] virtual ObserverQParams calculate_qparams() const = 0;
  virtual void reset_min_max_vals() = 0;
  /// Per tensor: one value, +infinity and -infinity before the first batch; per channel: empty
  /// then.
  [[nodiscard]] virtual std::span<const float> min_val() const = 0;
  [[nodiscard]] virtual std::span<const float> max_val() const = 0;
  [[nodiscard]] virtual Json state() const = 0;
  /// Errors: invalid_argument if `state` is not what this class wrote.
  virtual void load_state(const Json& state) = 0;
  /// Adds what an observer of the same class and options saw.
  /// Errors: unsupported for moving averages, which depend on the order of batches.
  virtual void merge(const Observer& other) = 0;

  [[nodiscard]] const ObserverOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::int64_t quant_min() const noexcept { return quant_min_; }
  [[nodiscard]] std::int64_t quant_max() const noexcept { return quant_max_; }
  [[nodiscard]] std::int64_t nan_count() const noexcept { return nan_count_; }
  [[nodiscard]] std::int64_t infinity_count() const noexcept { return infinity_count_; }

 protected:
  /// Errors: invalid_argument for a range that is not increasing, does not hold 0, has one bound,
  /// or
  ///         does not fit; for a scheme of the other family; for reduce_range with symmetric
  ///         quint8.
  Observer(const ObserverOptions& options, bool per_channel);
  [[nodiscard]] ObserverQParams qparams_from(std::span<const float> min,
                                             std::span<const float> max) const;
  [[nodiscard]] ObserverScheme scheme() const noexcept { return *options_.qscheme; }
  void require_same_options(const Observer& other) const;

  ObserverOptions options_;
  std::int64_t quant_min_ = 0, quant_max_ = 0;
  std::int64_t nan_count_ = 0, infinity_count_ = 0;

 private:
  [[nodiscard]] std::int64_t symmetric_zero_point() const;
  [[nodiscard]] float affine_scale(float low, float high, double steps) const;
  [[nodiscard]] bool custom_range() const noexcept { return options_.quant_min.has_value(); }
};

/// By torch's class name: MinMaxObserver, PerChannelMinMaxObserver, MovingAverageMinMaxObserver,
/// MovingAveragePerChannelMinMaxObserver, HistogramObserver.
/// Errors: invalid_argument naming the closest name.
[[nodiscard]] std::unique_ptr<Observer> make_observer(std::string_view class_name,
                                                      const ObserverOptions& options = {});
[[nodiscard]] std::span<const std::string_view> observer_names() noexcept;

}  // namespace halfstep
