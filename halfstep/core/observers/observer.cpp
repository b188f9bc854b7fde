#include "halfstep/core/observers/observer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "halfstep/core/observers/histogram_observer.h"
#include "halfstep/core/observers/minmax_observer.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

struct DtypeRow {
  ObserverDtype dtype;
  std::string_view name;
  std::int64_t min, max;
  std::int64_t reduced_min, reduced_max;
};
constexpr std::array<DtypeRow, 9> kDtypes = {{
    {ObserverDtype::quint8, "quint8", 0, 255, 0, 127},
    {ObserverDtype::qint8, "qint8", -128, 127, -64, 63},
    {ObserverDtype::qint32, "qint32", INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX},
    {ObserverDtype::quint4x2, "quint4x2", 0, 15, 0, 15},
    {ObserverDtype::uint8, "uint8", 0, 255, 0, 127},
    {ObserverDtype::int8, "int8", -128, 127, -64, 63},
    {ObserverDtype::int16, "int16", -32768, 32767, -32768, 32767},
    {ObserverDtype::int32, "int32", INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX},
    {ObserverDtype::uint16, "uint16", 0, 65535, 0, 65535},
}};

constexpr std::array<std::pair<ObserverScheme, std::string_view>, 5> kSchemes = {{
    {ObserverScheme::per_tensor_affine, "per_tensor_affine"},
    {ObserverScheme::per_tensor_symmetric, "per_tensor_symmetric"},
    {ObserverScheme::per_channel_affine, "per_channel_affine"},
    {ObserverScheme::per_channel_symmetric, "per_channel_symmetric"},
    {ObserverScheme::per_channel_affine_float_qparams, "per_channel_affine_float_qparams"},
}};

constexpr std::array<std::string_view, 5> kClasses = {
    "MinMaxObserver", "PerChannelMinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "HistogramObserver"};

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::invalid_argument, message);
}

const DtypeRow& row_of(ObserverDtype dtype) { return kDtypes[static_cast<std::size_t>(dtype)]; }

bool is_byte_unsigned(ObserverDtype dtype) {
  return dtype == ObserverDtype::quint8 || dtype == ObserverDtype::uint8;
}
bool is_byte_signed(ObserverDtype dtype) {
  return dtype == ObserverDtype::qint8 || dtype == ObserverDtype::int8;
}

bool is_symmetric(ObserverScheme scheme) {
  return scheme == ObserverScheme::per_tensor_symmetric ||
         scheme == ObserverScheme::per_channel_symmetric;
}

bool is_per_tensor(ObserverScheme scheme) {
  return scheme == ObserverScheme::per_tensor_affine ||
         scheme == ObserverScheme::per_tensor_symmetric;
}

std::int64_t halved(std::int64_t bound) {
  return bound >= 0 ? bound / 2 : -((1 - bound) / 2);  // towards -infinity
}

void check_range(const ObserverOptions& options) {
  const std::int64_t low = *options.quant_min;
  const std::int64_t high = *options.quant_max;
  const std::string found =
      "quant_min " + std::to_string(low) + " and quant_max " + std::to_string(high);
  if (low > 0 || high < 0 || low >= high) {
    fail(found + "; the range must be increasing and hold 0");
  }
  if (is_byte_signed(options.dtype) && high - low + 1 > 256) {
    fail(found + " are more than the 256 values of " + std::string(name(options.dtype)));
  }
}

std::pair<std::int64_t, std::int64_t> quant_range(const ObserverOptions& options) {
  const DtypeRow& row = row_of(options.dtype);
  if (options.quant_min.has_value() != options.quant_max.has_value()) {
    fail("quant_min and quant_max go together; give both, or none for the range of " +
         std::string(row.name));
  }
  if (!options.quant_min) {
    return options.reduce_range ? std::pair(row.reduced_min, row.reduced_max)
                                : std::pair(row.min, row.max);
  }
  check_range(options);
  return options.reduce_range ? std::pair(halved(*options.quant_min), halved(*options.quant_max))
                              : std::pair(*options.quant_min, *options.quant_max);
}

std::vector<std::string> names_of_dtypes() {
  std::vector<std::string> names;
  for (const DtypeRow& row : kDtypes) {
    names.emplace_back(row.name);
  }
  return names;
}

}  // namespace

std::string_view name(ObserverDtype dtype) noexcept { return row_of(dtype).name; }

std::string_view name(ObserverScheme scheme) noexcept {
  return kSchemes[static_cast<std::size_t>(scheme)].second;
}

ObserverDtype parse_observer_dtype(std::string_view name) {
  for (const DtypeRow& row : kDtypes) {
    if (row.name == name) {
      return row.dtype;
    }
  }
  if (name == "float8_e4m3fn" || name == "float8_e5m2") {
    fail("an observer has no integer range for " + std::string(name) +
         " (torch silently takes [0, 15]); use a QuantizationSpec of that dtype");
  }
  std::string known;
  for (const DtypeRow& row : kDtypes) {
    known += ' ' + std::string(row.name);
  }
  const std::string closest = closest_match(name, names_of_dtypes());
  fail("an observer can't have dtype \"" + std::string(name) + '"' +
       (closest.empty() ? "; known:" + known : "; did you mean \"" + closest + "\"?"));
}

ObserverScheme parse_observer_scheme(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [scheme, text] : kSchemes) {
    if (text == name) {
      return scheme;
    }
    names.emplace_back(text);
  }
  const std::string closest = closest_match(name, names);
  fail("unknown qscheme \"" + std::string(name) + '"' +
       (closest.empty() ? std::string() : "; did you mean \"" + closest + "\"?"));
}

Observer::Observer(const ObserverOptions& options, bool per_channel) : options_(options) {
  if (!options_.qscheme) {
    options_.qscheme =
        per_channel ? ObserverScheme::per_channel_affine : ObserverScheme::per_tensor_affine;
  }
  if (is_per_tensor(scheme()) == per_channel) {
    fail("qscheme " + std::string(name(scheme())) + " with an observer " +
         (per_channel ? "per channel" : "per tensor") + "; use the observer of the other family");
  }
  if (is_symmetric(scheme()) && options_.reduce_range && options_.dtype == ObserverDtype::quint8) {
    fail("reduce_range with a symmetric quint8 range is not defined; use qint8");
  }
  if (!(options_.eps >= 0) || !(options_.averaging_constant >= 0)) {
    fail("eps and averaging_constant must be >= 0");
  }
  std::tie(quant_min_, quant_max_) = quant_range(options_);
}

std::int64_t Observer::symmetric_zero_point() const {
  if (is_byte_unsigned(options_.dtype)) {
    return custom_range() ? halved(quant_min_ + quant_max_) : 128;
  }
  return options_.dtype == ObserverDtype::uint16 ? 32768 : 0;
}

ObserverQParams Observer::qparams_from(std::span<const float> min,
                                       std::span<const float> max) const {
  ObserverQParams qparams;
  const auto eps = static_cast<float>(options_.eps);
  const auto steps = static_cast<double>(quant_max_ - quant_min_);
  const auto at_least_eps = [eps](float scale) { return scale < eps ? eps : scale; };
  for (std::size_t i = 0; i < min.size(); ++i) {
    if (min[i] > max[i]) {
      fail("the minimum " + std::to_string(min[i]) + " exceeds the maximum " +
           std::to_string(max[i]) + "; the state was not made by observing");
    }
    const float low = min[i] > 0 ? 0.0F : min[i];
    const float high = max[i] < 0 ? 0.0F : max[i];
    if (is_symmetric(scheme())) {
      const float largest = -low > high ? -low : high;
      qparams.scale.push_back(at_least_eps(largest / static_cast<float>(steps / 2)));
      qparams.zero_point.push_back(symmetric_zero_point());
    } else if (scheme() == ObserverScheme::per_channel_affine_float_qparams) {
      const float scale = (max[i] - min[i]) / static_cast<float>(steps);
      qparams.scale.push_back(scale > eps ? scale : 1.0F);
      qparams.zero_point_float.push_back(-min[i] / qparams.scale.back());
    } else {
      const float scale = at_least_eps(affine_scale(low, high, steps));
      const double zero = static_cast<double>(quant_min_) - std::rint(low / scale);
      const double code = std::isnan(zero) ? 0.0 : zero;
      qparams.scale.push_back(scale);
      qparams.zero_point.push_back(static_cast<std::int64_t>(
          std::clamp(code, static_cast<double>(quant_min_), static_cast<double>(quant_max_))));
    }
  }
  return qparams;
}

float Observer::affine_scale(float low, float high, double steps) const {
  const float range = high - low;
  if (std::isinf(range) && options_.policy == Policy::safe) {
    return static_cast<float>((static_cast<double>(high) - low) / steps);
  }
  return range / static_cast<float>(steps);
}

void Observer::require_same_options(const Observer& other) const {
  require(options_ == other.options_,
          "statistics of observers merge only if their classes and options are equal");
}

std::span<const std::string_view> observer_names() noexcept { return kClasses; }

std::unique_ptr<Observer> make_observer(std::string_view class_name,
                                        const ObserverOptions& options) {
  const auto found = std::find(kClasses.begin(), kClasses.end(), class_name);
  switch (found - kClasses.begin()) {
    case 0:
      return std::make_unique<MinMaxObserver>(options);
    case 1:
      return std::make_unique<PerChannelMinMaxObserver>(options);
    case 2:
      return std::make_unique<MovingAverageMinMaxObserver>(options);
    case 3:
      return std::make_unique<MovingAveragePerChannelMinMaxObserver>(options);
    case 4:
      return std::make_unique<HistogramObserver>(options);
    default:
      break;
  }
  const std::string closest =
      closest_match(class_name, std::vector<std::string>(kClasses.begin(), kClasses.end()));
  fail("no observer is named \"" + std::string(class_name) + '"' +
       (closest.empty() ? std::string() : "; did you mean \"" + closest + "\"?"));
}

}  // namespace halfstep
