#include "halfstep/core/calculators.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "halfstep/core/histogram.h"
#include "halfstep/core/range_search.h"
#include "halfstep/core/state.h"
#include "halfstep/support/error.h"
#include "halfstep/support/thread_pool.h"

namespace halfstep {
namespace {

/// What the built-ins share: the range so far, and how batches change it.
class RunningCalculator : public QParamsCalculatorBase {
 public:
  explicit RunningCalculator(const ResolvedSpec& spec) : spec_(spec) {}

  void update(const Ranges& batch) override { take(Ranges(batch)); }

  void take(Ranges&& batch) override {
    Ranges bounded = with_zero_and_bounds(std::move(batch), spec_.spec());
    if (!range_) {
      range_ = std::move(bounded);
      return;
    }
    if (range_->min.size() != bounded.min.size() && keeps_shape()) {
      throw Error(ErrorKind::invalid_argument,
                  "a batch with " + std::to_string(bounded.min.size()) +
                      " quantization units after batches with " +
                      std::to_string(range_->min.size()) +
                      "; every batch must have the same channels or blocks");
    }
    bounded.nan_count += range_->nan_count;
    bounded.infinity_count += range_->infinity_count;
    combine(*range_, bounded);
  }

  [[nodiscard]] Ranges range() const override { return current(); }

  void with_range(const std::function<void(const Ranges&)>& work) const override {
    work(current());
  }

  void reset() override { range_.reset(); }

  [[nodiscard]] const Ranges& current() const {
    if (!range_) {
      throw Error(ErrorKind::unsupported,
                  "no batch has been observed yet; run the observer on data before its parameters "
                  "are used");
    }
    return *range_;
  }

  [[nodiscard]] Json state() const override {
    return {{"range", range_ ? internal::ranges_json(*range_) : Json()}};
  }

  void load_state(const Json& state) override {
    const Json& range = internal::read_member(state, "range");
    range_ = range.is_null() ? std::optional<Ranges>()
                             : std::optional<Ranges>(internal::read_ranges(range));
  }

 protected:
  /// `running` becomes the range after `batch`, whose counts hold those of all batches.
  virtual void combine(Ranges& running, Ranges& batch) const = 0;
  [[nodiscard]] virtual bool keeps_shape() const { return true; }

  ResolvedSpec spec_;
  std::optional<Ranges> range_{};
};

class StaticCalculator : public RunningCalculator {
 public:
  using RunningCalculator::RunningCalculator;

 protected:
  void combine(Ranges& running, Ranges& batch) const override { running = std::move(batch); }
};

/// As static, but nothing ties one batch to the next.
class DynamicCalculator final : public StaticCalculator {
 public:
  using StaticCalculator::StaticCalculator;

 protected:
  [[nodiscard]] bool keeps_shape() const override { return false; }
};

class GlobalMinMaxCalculator final : public RunningCalculator {
 public:
  using RunningCalculator::RunningCalculator;

  void merge(const QParamsCalculatorBase& other) override {
    const auto* same = dynamic_cast<const GlobalMinMaxCalculator*>(&other);
    require(same != nullptr, "global_minmax statistics merge only with global_minmax statistics");
    if (same->range_) {
      update(*same->range_);
    }
  }

 protected:
  void combine(Ranges& running, Ranges& batch) const override {
    // A NaN of the reference policy is passed over.
    for (std::size_t i = 0; i < batch.min.size(); ++i) {
      batch.min[i] = std::fmin(running.min[i], batch.min[i]);
      batch.max[i] = std::fmax(running.max[i], batch.max[i]);
    }
    running = std::move(batch);
  }
};

/// running = c * batch + (1 - c) * running, every operation rounded to the type of the data.
class MovingAverageCalculator final : public RunningCalculator {
 public:
  using RunningCalculator::RunningCalculator;

 protected:
  void combine(Ranges& running, Ranges& batch) const override {
    // Averaging a fixed bound with itself would let it drift.
    const bool skip = spec_->policy == Policy::safe;
    average(running.min, batch.min, batch.dtype, skip && spec_->float_min);
    average(running.max, batch.max, batch.dtype, skip && spec_->float_max);
    running = std::move(batch);
  }

 private:
  static float rounded(float value, Dtype dtype) {
    return dtype == Dtype::float16    ? to_float(to_float16(value))
           : dtype == Dtype::bfloat16 ? to_float(to_bfloat16(value))
                                      : value;
  }

  void average(const std::vector<float>& running, std::vector<float>& batch, Dtype dtype,
               bool fixed) const {
    const auto share = static_cast<float>(spec_->averaging_constant);
    const auto rest = static_cast<float>(1 - spec_->averaging_constant);
    for (std::size_t i = 0; i < batch.size() && !fixed; ++i) {
      const float fresh = rounded(share * batch[i], dtype);
      const float old = rounded(rest * running[i], dtype);
      batch[i] = rounded(fresh + old, dtype);
    }
  }
};

class MinMaxRangeCalculator final : public RangeCalculatorBase {
 public:
  explicit MinMaxRangeCalculator(Policy policy) : policy_(policy) {}
  [[nodiscard]] Ranges measure(const FloatView& x, const UnitGrid& grid,
                               int threads) const override {
    return measure_range(x, grid, policy_, threads);
  }

 private:
  Policy policy_;
};

class DefaultFakeQuantize final : public FakeQuantizeImplBase {
 public:
  void quantize_and_fake_quantize(const FloatView& x, const Mapping& mapping,
                                  std::span<std::byte> q, const FloatSpan& y,
                                  int threads) const override {
    halfstep::quantize_and_fake_quantize(x, mapping, q, y, threads);
  }
};

/// A range chosen from the distribution of each unit's values; see search_range.
class SearchingRangeCalculator final : public RangeCalculatorBase {
 public:
  explicit SearchingRangeCalculator(const ResolvedSpec& spec) : spec_(spec) {
    (void)percentile_of(spec.spec());  // wrong arguments are told before data is there
  }

  [[nodiscard]] Ranges measure(const FloatView& x, const UnitGrid& grid,
                               int threads) const override {
    Ranges ranges = measure_range(x, grid, spec_->policy, threads);
    parallel_for(threads, grid.units(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t unit = begin; unit < end; ++unit) {
        const auto at = static_cast<std::size_t>(unit);
        if (!std::isfinite(ranges.min[at]) || !std::isfinite(ranges.max[at])) {
          continue;  // Policy::reference keeps what is not finite
        }
        const RealInterval range = search_range(histogram_of(unit_values(x, grid, unit)), spec_);
        ranges.min[at] = range.low;
        ranges.max[at] = range.high;
      }
    });
    return ranges;
  }

 private:
  static std::vector<float> unit_values(const FloatView& x, const UnitGrid& grid,
                                        std::int64_t unit) {
    return std::visit(
        []<typename T>(const TensorView<T>& part) {
          std::vector<float> values;
          for (const auto value : contiguous_copy(part)) {
            if (const auto real = static_cast<float>(to_float(value)); std::isfinite(real)) {
              values.push_back(real);
            }
          }
          return values;
        },
        unit_view(x, grid, unit));
  }

  /// The part of `x` that is unit number `unit` of the grid.
  static FloatView unit_view(const FloatView& x, const UnitGrid& grid, std::int64_t unit) {
    return std::visit(
        [&]<typename T>(const TensorView<T>& whole) -> FloatView {
          Shape shape(grid.shape.size());
          std::int64_t offset = 0;
          for (std::size_t axis = shape.size(); axis-- > 0;) {
            const std::int64_t start = unit % grid.counts[axis] * grid.sizes[axis];
            unit /= grid.counts[axis];
            shape[axis] = std::min(grid.sizes[axis], grid.shape[axis] - start);
            offset += start * whole.strides()[axis];
          }
          return TensorView<T>(whole.data() + offset, shape, whole.strides());
        },
        x);
  }

  /// Few values need few bins.
  static Histogram histogram_of(const std::vector<float>& values) {
    constexpr std::size_t kFewest = 256;
    Histogram histogram(std::clamp(std::bit_ceil(4 * values.size()), kFewest, Histogram::kLimit));
    histogram.add(values);
    return histogram;
  }

  ResolvedSpec spec_;
};

template <typename Calculator>
std::unique_ptr<QParamsCalculatorBase> make(const ResolvedSpec& spec) {
  return std::make_unique<Calculator>(spec);
}

std::unique_ptr<QParamsCalculatorBase> make_default(const ResolvedSpec& spec) {
  return spec.role() == Role::activation ? make<MovingAverageCalculator>(spec)
                                         : make<StaticCalculator>(spec);
}

}  // namespace

Json QParamsCalculatorBase::state() const {
  throw Error(ErrorKind::unsupported,
              "this qparams calculator can't save its state; override state()");
}

void QParamsCalculatorBase::load_state(const Json&) {
  throw Error(ErrorKind::unsupported,
              "this qparams calculator can't load a state; override load_state()");
}

void QParamsCalculatorBase::merge(const QParamsCalculatorBase&) {
  throw Error(ErrorKind::unsupported,
              "the statistics of this qparams calculator depend on the order of batches and can't "
              "be merged; use global_minmax");
}

void FakeQuantizeImplBase::quantize(const FloatView& x, const Mapping& mapping,
                                    std::span<std::byte> q, int threads) const {
  halfstep::quantize(x, mapping, q, threads);
}

void FakeQuantizeImplBase::dequantize(std::span<const std::byte> q, const Mapping& mapping,
                                      const FloatSpan& x, int threads) const {
  halfstep::dequantize(q, mapping, x, threads);
}

void FakeQuantizeImplBase::fake_quantize(const FloatView& x, const Mapping& mapping,
                                         const FloatSpan& y, int threads) const {
  halfstep::fake_quantize(x, mapping, y, threads);
}

void FakeQuantizeImplBase::quantize_and_fake_quantize(const FloatView& x, const Mapping& mapping,
                                                      std::span<std::byte> q, const FloatSpan& y,
                                                      int threads) const {
  quantize(x, mapping, q, threads);
  fake_quantize(x, mapping, y, threads);
}

Registry<QParamsCalculatorMaker>& qparams_calculators() {
  static Registry<QParamsCalculatorMaker> registry(
      "qparams calculator", {{"default", make_default},
                             {"static", make<StaticCalculator>},
                             {"dynamic", make<DynamicCalculator>},
                             {"moving_average", make<MovingAverageCalculator>},
                             {"global_minmax", make<GlobalMinMaxCalculator>}});
  return registry;
}

Registry<RangeCalculatorMaker>& range_calculators() {
  const auto minmax = [](const ResolvedSpec& spec) {
    return std::make_unique<MinMaxRangeCalculator>(spec->policy);
  };
  const auto searching = [](const ResolvedSpec& spec) {
    return std::make_unique<SearchingRangeCalculator>(spec);
  };
  static Registry<RangeCalculatorMaker> registry("range calculator",
                                                 {{"minmax", minmax},
                                                  {"percentile", searching},
                                                  {"entropy", searching},
                                                  {"mse", searching},
                                                  {"sqnr", searching}},
                                                 {"percentile", "entropy", "mse", "sqnr"});
  return registry;
}

Registry<FakeQuantizeMaker>& fake_quantizers() {
  static Registry<FakeQuantizeMaker> registry(
      "fake quantizer",
      {{"default", [](const ResolvedSpec&) { return std::make_unique<DefaultFakeQuantize>(); }}});
  return registry;
}

std::unique_ptr<QParamsCalculatorBase> make_qparams_calculator(const ResolvedSpec& spec) {
  return qparams_calculators().find(spec->qparam_calculator_cls)(spec);
}

std::unique_ptr<RangeCalculatorBase> make_range_calculator(const ResolvedSpec& spec) {
  return range_calculators().find(spec->range_calculator_cls)(spec);
}

std::unique_ptr<FakeQuantizeImplBase> make_fake_quantizer(const ResolvedSpec& spec) {
  return fake_quantizers().find(spec->fake_quantize_cls)(spec);
}

std::string_view qparams_calculator_name(const QuantizationSpec& spec, Role role) noexcept {
  if (spec.qparam_calculator_cls != "default") {
    return spec.qparam_calculator_cls;
  }
  return role == Role::activation ? "moving_average" : "static";
}

}  // namespace halfstep
