#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "halfstep/core/float_view.h"

namespace halfstep {

/// How x becomes a whole number of steps. `division` is ours, coreai-opt's and ONNX's; the others
/// are the ways of torch's operators (1 / scale rounded to float32 first).
enum class Rounding : std::uint8_t {
  division,             ///< rint(x / scale) + zero_point
  reciprocal,           ///< rint(x * (1 / scale)) + zero_point: torch.fake_quantize_per_*_affine
  reciprocal_then_add,  ///< rint(x * (1 / scale) + zero_point): torch.quantize_per_channel
  reciprocal_fused,     ///< rint(fma(x, 1 / scale, zero_point)): torch.quantize_per_tensor, 8 bits
};

/// Parameters of torch's affine operators: one scale and zero point, or one for each index of
/// `axis`.
struct AffineParams {
  std::span<const float> scale{};
  std::span<const std::int64_t> zero_point{};
  std::optional<std::int64_t> axis{};
  std::int64_t quant_min = 0, quant_max = 255;
  Rounding rounding = Rounding::reciprocal;
};

/// Formula: y = (clamp(q, quant_min, quant_max) - zero_point) * scale, q by `rounding`
/// Shapes:  y has the shape and type of x; any strides; y may be x.
/// Edge:    computed in float32 whatever the type. NaN becomes quant_min, infinities the ends.
/// Errors:  invalid_argument for quant_min > quant_max, a zero point outside of them, an axis
/// outside
///          [0, rank), or counts that don't fit.
/// Source:  torch 2.13 CPU, torch.fake_quantize_per_tensor_affine and _per_channel_affine
void fake_quantize_affine(const FloatView& x, const AffineParams& params, const FloatSpan& y);

/// The codes themselves, row-major, one int64 for each value of x. NaN becomes the zero point.
/// Source:  torch 2.13 CPU, torch.quantize_per_tensor and quantize_per_channel
void quantize_affine(const FloatView& x, const AffineParams& params, std::span<std::int64_t> codes);

}  // namespace halfstep
