#include "halfstep/core/kernels/qparams/qparams.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "halfstep/core/lean_qparams.h"
#include "halfstep/core/lpbq.h"
#include "halfstep/core/minifloat.h"
#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// Float arithmetic whose results are rounded to the type of the data, one rounding per operation.
class Arithmetic {
 public:
  explicit Arithmetic(Dtype dtype) : dtype_(dtype) {}
  [[nodiscard]] float round(float value) const {
    return dtype_ == Dtype::float16    ? to_float(to_float16(value))
           : dtype_ == Dtype::bfloat16 ? to_float(to_bfloat16(value))
                                       : value;
  }
  [[nodiscard]] float divide(float a, float b) const { return round(a / b); }
  [[nodiscard]] float subtract(float a, float b) const { return round(a - b); }

 private:
  Dtype dtype_;
};

float max_abs(float min, float max) {
  return std::isnan(min) || std::isnan(max) ? std::numeric_limits<float>::quiet_NaN()
                                            : std::max(std::abs(min), std::abs(max));
}

/// NaN stays.
float at_least(float value, float least) { return value < least ? least : value; }

float asymmetric_scale(float min, float max, const ResolvedSpec& spec, const Arithmetic& in_type) {
  const double steps = spec.quant_max() - spec.quant_min();
  const float range = in_type.subtract(max, min);
  if (std::isinf(range) && spec->policy == Policy::safe) {
    return static_cast<float>((static_cast<double>(max) - min) / steps);
  }
  return in_type.divide(range, static_cast<float>(steps));
}

std::int32_t to_zero_point(double zero_point, const ResolvedSpec& spec) {
  if (std::isnan(zero_point)) {
    return static_cast<std::int32_t>(std::clamp(0.0, spec.quant_min(), spec.quant_max()));
  }
  const double code = std::clamp(zero_point, spec.quant_min(), spec.quant_max());
  if (code > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorKind::unsupported, "the zero point " + std::to_string(code) + " of " +
                                            std::string(name(spec->dtype)) +
                                            " does not fit int32; use int32 instead");
  }
  return static_cast<std::int32_t>(code);
}

std::int32_t asymmetric_zero_point(float min, float scale, const ResolvedSpec& spec,
                                   const Arithmetic& in_type) {
  const float steps = in_type.round(std::rint(in_type.divide(min, scale)));
  const auto lowest = static_cast<float>(spec.quant_min());
  return to_zero_point(in_type.subtract(lowest, steps), spec);
}

QParams empty_qparams(std::size_t units, const ResolvedSpec& spec, bool with_minval,
                      bool with_zero_point = true) {
  QParams qparams;
  qparams.scale.resize(units);
  if (with_zero_point) {
    qparams.zero_point.resize(units, 0);
  }
  if (is_integer(spec->dtype) && (with_minval || spec->qformulation == Formulation::minval)) {
    qparams.minval.resize(units);
  }
  return qparams;
}

/// The zero point of the symmetric schemes; of float formats quant_max + quant_min is 0, it too.
std::int32_t middle_code(const ResolvedSpec& spec) {
  return is_floating(spec->dtype)
             ? 0
             : to_zero_point(std::trunc((spec.quant_max() + spec.quant_min() + 1) / 2), spec);
}

/// The usual cases, in vectors. False if there is one that needs care; `qparams` is then void.
bool fast_qparams(const Ranges& ranges, const ResolvedSpec& spec, QParams& qparams) {
  const auto eps = static_cast<float>(spec->eps);
  const kernels::RangeArgs args{
      .min = ranges.min.data(), .max = ranges.max.data(), .units = ranges.min.size()};
  float* minval = qparams.minval.empty() ? nullptr : qparams.minval.data();
  if (ranges.dtype != Dtype::float32 || spec->qscheme == Scheme::symmetric_aimet ||
      bits(spec->dtype) > 16) {
    return false;
  }
  if (spec->qscheme != Scheme::asymmetric) {
    const auto half_range = static_cast<float>((spec.quant_max() - spec.quant_min()) / 2);
    kernels::symmetric_qparams(args, half_range, eps, qparams.scale.data(), minval);
    std::fill(qparams.zero_point.begin(), qparams.zero_point.end(), middle_code(spec));
    return true;
  }
  if (minval != nullptr) {
    qparams.minval = ranges.min;
  }
  const kernels::ZeroPointRange codes{.lowest = static_cast<float>(spec.quant_min()),
                                      .highest = static_cast<float>(spec.quant_max()),
                                      .of_nan = to_zero_point(std::nan(""), spec)};
  const bool finite =
      kernels::asymmetric_qparams(args, static_cast<float>(spec.quant_max() - spec.quant_min()),
                                  eps, codes, qparams.scale.data(), qparams.zero_point.data());
  return finite || spec->policy == Policy::reference;
}

/// Both ends of the range fit.
float aimet_scale(float min, float max, std::int32_t middle, const ResolvedSpec& spec,
                  const Arithmetic& in_type) {
  if (std::isnan(min) || std::isnan(max)) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const auto above = static_cast<float>(spec.quant_max() - middle);
  const auto below = static_cast<float>(spec.quant_min() - middle);
  return std::max(in_type.divide(max, above), in_type.divide(min, below));
}

QParams affine_qparams(const Ranges& ranges, const ResolvedSpec& spec, bool with_minval) {
  QParams qparams = empty_qparams(ranges.min.size(), spec, with_minval);
  if (fast_qparams(ranges, spec, qparams)) {
    return qparams;
  }
  const Arithmetic in_type(ranges.dtype);
  const bool asymmetric = spec->qscheme == Scheme::asymmetric;
  const bool aimet = spec->qscheme == Scheme::symmetric_aimet;
  const auto eps = in_type.round(static_cast<float>(spec->eps));
  const auto half_range = static_cast<float>((spec.quant_max() - spec.quant_min()) / 2);
  const std::int32_t middle = asymmetric ? 0 : middle_code(spec);
  for (std::size_t i = 0; i < ranges.min.size(); ++i) {
    const float min = ranges.min[i];
    const float max = ranges.max[i];
    const float scale = asymmetric ? asymmetric_scale(min, max, spec, in_type)
                        : aimet    ? aimet_scale(min, max, middle, spec, in_type)
                                   : in_type.divide(max_abs(min, max), half_range);
    qparams.scale[i] = at_least(scale, eps);
    qparams.zero_point[i] =
        asymmetric ? asymmetric_zero_point(min, qparams.scale[i], spec, in_type) : middle;
    if (!qparams.minval.empty()) {
      qparams.minval[i] = asymmetric ? min : -max_abs(min, max);
    }
  }
  return qparams;
}

QParams power_of_two_qparams(const Ranges& ranges, const ResolvedSpec& spec, bool with_minval,
                             bool with_zero_point = true) {
  QParams qparams = empty_qparams(ranges.min.size(), spec, with_minval, with_zero_point);
  for (std::size_t i = 0; i < ranges.min.size(); ++i) {
    const float largest = max_abs(ranges.min[i], ranges.max[i]);
    qparams.scale[i] = e8m0_scale(largest, spec->dtype, spec->e8m0_mode);
    if (!qparams.minval.empty()) {
      qparams.minval[i] = -largest;
    }
  }
  return qparams;
}

}  // namespace

QParams qparams_of(const Ranges& ranges, const ResolvedSpec& spec, const UnitGrid& grid,
                   bool with_minval) {
  const auto units = static_cast<std::size_t>(grid.units());
  if (ranges.min.size() != units || ranges.max.size() != units) {
    throw Error(ErrorKind::invalid_argument,
                std::to_string(ranges.min.size()) + " ranges for a tensor of shape " +
                    to_text(grid.shape) + " with " + std::to_string(units) + " units");
  }
  if (std::holds_alternative<Lpbq>(spec->granularity)) {
    return internal::lpbq_qparams(ranges, spec, grid);
  }
  return spec->scale_dtype ? power_of_two_qparams(ranges, spec, with_minval)
                           : affine_qparams(ranges, spec, with_minval);
}

QParams internal::lean_qparams(const Ranges& ranges, const ResolvedSpec& spec,
                               const UnitGrid& grid) {
  const bool fits = ranges.min.size() == static_cast<std::size_t>(grid.units());
  const bool usual = !fits || !spec->scale_dtype || std::holds_alternative<Lpbq>(spec->granularity);
  QParams qparams =
      usual ? qparams_of(ranges, spec, grid) : power_of_two_qparams(ranges, spec, false, false);
  std::vector<std::int32_t>& zero_point = qparams.zero_point;
  const auto is_zero = [](std::int32_t zero) { return zero == 0; };
  if (spec->qformulation == Formulation::minval ||
      std::all_of(zero_point.begin(), zero_point.end(), is_zero)) {
    zero_point = {};
  }
  return qparams;
}

QParams choose_qparams(const Ranges& ranges, const ResolvedSpec& spec, const UnitGrid& grid) {
  return qparams_of(with_zero_and_bounds(ranges, spec.spec()), spec, grid);
}

Mapping fit(const TensorView<const float>& x, const ResolvedSpec& spec, int threads) {
  UnitGrid grid = unit_grid(spec, x.shape());
  const bool bounds_given = spec->float_min.has_value() && spec->float_max.has_value();
  const auto units = static_cast<std::size_t>(grid.units());
  const Ranges ranges =
      bounds_given ? Ranges{.min = std::vector<float>(units), .max = std::vector<float>(units)}
                   : measure_range(x, grid, spec->policy, threads);
  QParams qparams = choose_qparams(ranges, spec, grid);
  return {.spec = spec, .grid = std::move(grid), .qparams = std::move(qparams)};
}

}  // namespace halfstep
