#include "halfstep/core/torch_ops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::invalid_argument, message);
}

void check(const AffineParams& params, const Shape& shape) {
  if (params.quant_min > params.quant_max) {
    fail("quant_min " + std::to_string(params.quant_min) + " exceeds quant_max " +
         std::to_string(params.quant_max));
  }
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (params.axis && (*params.axis < 0 || *params.axis >= rank)) {
    fail("axis " + std::to_string(*params.axis) + " is outside a tensor of shape " +
         to_text(shape) + "; expected 0 to " + std::to_string(rank - 1));
  }
  const std::size_t count =
      params.axis ? static_cast<std::size_t>(shape[static_cast<std::size_t>(*params.axis)]) : 1;
  if (params.scale.size() != count || params.zero_point.size() != count) {
    fail(std::to_string(params.scale.size()) + " scales and " +
         std::to_string(params.zero_point.size()) + " zero points; expected " +
         std::to_string(count) + " of each");
  }
  for (const std::int64_t zero : params.zero_point) {
    if (zero < params.quant_min || zero > params.quant_max) {
      fail("zero point " + std::to_string(zero) + " is outside [" +
           std::to_string(params.quant_min) + ", " + std::to_string(params.quant_max) + "]");
    }
  }
}

/// Rounded, not yet clamped, zero point added.
double rounded(float x, float scale, std::int64_t zero_point, Rounding rounding) {
  const auto zero = static_cast<double>(zero_point);
  if (rounding == Rounding::division) {
    return std::rint(x / scale) + zero;
  }
  const float inverse = 1.0F / scale;
  switch (rounding) {
    case Rounding::reciprocal_then_add:
      return std::rint(x * inverse + static_cast<float>(zero_point));
    case Rounding::reciprocal_fused:
      return std::rint(std::fma(x, inverse, static_cast<float>(zero_point)));
    default:
      return std::rint(x * inverse) + zero;
  }
}

/// Calls visit(index of the value, index of its parameters).
template <typename Visit>
void for_each_value(const Shape& shape, const std::optional<std::int64_t>& axis, Visit visit) {
  std::size_t inner = 1;
  for (std::size_t i = axis ? static_cast<std::size_t>(*axis) + 1 : shape.size(); i < shape.size();
       ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  const std::size_t channels =
      axis ? static_cast<std::size_t>(shape[static_cast<std::size_t>(*axis)]) : 1;
  const auto count = static_cast<std::size_t>(element_count(shape));
  for (std::size_t i = 0; i < count; ++i) {
    visit(i, axis ? i / inner % channels : 0);
  }
}

template <typename T>
std::vector<T> fake_quantized(std::vector<T> values, const AffineParams& params,
                              const Shape& shape) {
  const auto low = static_cast<double>(params.quant_min);
  const auto high = static_cast<double>(params.quant_max);
  for_each_value(shape, params.axis, [&](std::size_t i, std::size_t channel) {
    const float scale = params.scale[channel];
    const std::int64_t zero = params.zero_point[channel];
    const double q = rounded(to_float(values[i]), scale, zero, params.rounding);
    const double code = std::isnan(q) ? low : std::clamp(q, low, high);
    values[i] = from_float<T>(static_cast<float>(code - static_cast<double>(zero)) * scale);
  });
  return values;
}

}  // namespace

void fake_quantize_affine(const FloatView& x, const AffineParams& params, const FloatSpan& y) {
  check(params, shape_of(x));
  std::visit(
      [&]<typename T>(const TensorView<const T>& view) {
        const auto* out = std::get_if<TensorView<T>>(&y);
        require(out != nullptr && out->shape() == view.shape(),
                "the output must have the shape " + to_text(view.shape()) +
                    " and the type of the input, " + std::string(name(dtype_of<T>())));
        scatter(fake_quantized(contiguous_copy(view), params, view.shape()), *out);
      },
      x);
}

void quantize_affine(const FloatView& x, const AffineParams& params,
                     std::span<std::int64_t> codes) {
  const Shape& shape = shape_of(x);
  check(params, shape);
  require(codes.size() == static_cast<std::size_t>(element_count(shape)),
          "a tensor of shape " + to_text(shape) + " has another number of values than the " +
              std::to_string(codes.size()) + " codes asked for");
  const auto low = static_cast<double>(params.quant_min);
  const auto high = static_cast<double>(params.quant_max);
  std::visit(
      [&](const auto& view) {
        const auto values = contiguous_copy(view);
        for_each_value(shape, params.axis, [&](std::size_t i, std::size_t channel) {
          const std::int64_t zero = params.zero_point[channel];
          const double q =
              rounded(to_float(values[i]), params.scale[channel], zero, params.rounding);
          codes[i] = std::isnan(q) ? zero : static_cast<std::int64_t>(std::clamp(q, low, high));
        });
      },
      x);
}

}  // namespace halfstep
