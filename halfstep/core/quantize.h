#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halfstep/core/float_view.h"
#include "halfstep/core/spec.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {

/// How a tensor of one shape splits into quantization units: `counts[i]` units along axis i,
/// each `sizes[i]` values long (the last one may be shorter).
struct UnitGrid {
  Shape shape{};   ///< of the tensor
  Shape counts{};  ///< units along each axis; also the shape of the parameters
  Shape sizes{};   ///< values of one unit along each axis
  [[nodiscard]] std::int64_t units() const noexcept { return element_count(counts); }
  /// Whether some last unit is shorter than the others.
  [[nodiscard]] bool uneven() const noexcept;
  bool operator==(const UnitGrid&) const = default;
};

/// Smallest and largest value of each unit, units in row-major order of the grid. Zero is not
/// forced in.
struct Ranges {
  std::vector<float> min{}, max{};
  std::int64_t nan_count = 0;       ///< NaN values seen (left out under Policy::safe)
  std::int64_t infinity_count = 0;  ///< infinities seen (left out under Policy::safe)
  /// Type that arithmetic with the range rounds to: Policy::reference computes the parameters of
  /// float16 and bfloat16 data in that type, as coreai-opt does.
  Dtype dtype = Dtype::float32;
};

/// Parameters of each unit, in the same order.
struct QParams {
  std::vector<float>
      scale;  ///< units of x per step; > 0. LPBQ: integer block scale x channel scale
  std::vector<std::int32_t> zero_point;   ///< in steps; all 0 for float formats
  std::vector<float> minval;              ///< in units of x; used by Formulation::minval
  std::vector<std::int32_t> block_scale;  ///< LPBQ only: per unit, 1..2^k
  std::vector<float> channel_scale;       ///< LPBQ only: per channel
};

/// The complete mapping of one tensor between real and stored values.
struct Mapping {
  ResolvedSpec spec;
  UnitGrid grid;
  QParams qparams;
};

/// `pad` lets the last block of an axis be shorter.
/// Errors: invalid_argument for an axis out of range, a block that does not divide (naming axis,
/// extent, block).
[[nodiscard]] UnitGrid unit_grid(const Granularity& granularity, const Shape& shape, Role role,
                                 bool pad = false);
/// The units of a tensor under a spec, which may ask for shorter last blocks.
[[nodiscard]] UnitGrid unit_grid(const ResolvedSpec& spec, const Shape& shape);
/// Whether the only thing wrong with `shape` is a block that does not divide its axis.
[[nodiscard]] bool has_uneven_blocks(const Granularity& granularity, const Shape& shape) noexcept;

/// Errors: none; an empty unit gets [0, 0]. Policy::reference keeps NaN (a unit with NaN has NaN
/// range), Policy::safe leaves NaN and infinities out and counts them.
[[nodiscard]] Ranges measure_range(const TensorView<const float>& x, const UnitGrid& grid,
                                   Policy policy = Policy::safe, int threads = 1);

/// The same for data of any floating type; float64 is rounded to float32 first.
[[nodiscard]] Ranges measure_range(const FloatView& x, const UnitGrid& grid,
                                   Policy policy = Policy::safe, int threads = 1);

/// Joins zero into every range and replaces measured bounds by the fixed ones of the spec.
[[nodiscard]] Ranges with_zero_and_bounds(Ranges ranges, const QuantizationSpec& spec);

/// Zero is joined into every range, fixed bounds of the spec replace measured ones, then
/// scale, zero_point and minval by the seed's tables ("ZP formulation", "MINVAL formulation").
[[nodiscard]] QParams choose_qparams(const Ranges& ranges, const ResolvedSpec& spec,
                                     const UnitGrid& grid);

/// The parameters of ranges that already hold zero and the fixed bounds.
///
/// Formula: symmetric   scale = max(max_abs / ((quant_max - quant_min) / 2), eps)
///          asymmetric  scale = max((max - min) / (quant_max - quant_min), eps),
///                      zero_point = clamp(quant_min - round(min / scale), quant_min, quant_max)
///          symmetric_aimet  scale = max(max / (quant_max - z), min / (quant_min - z), eps), with
///                      the zero point z of symmetric
///          e8m0        scale = 2^e, e from max_abs by e8m0_mode
///          lpbq        block = max(max / quant_max, min / quant_min) along a block, channel scale
///          =
///                      largest block / 2^k, block_scale = clamp(round(block / channel), 1, 2^k)
/// Edge:    NaN in a range gives a NaN scale and the zero point 0 (or the closest code).
/// Errors:  invalid_argument if counts do not fit `grid`; unsupported if a zero point exceeds
/// int32. Source:  coreai-opt QuantizationSpec, "ZP formulation" and "MINVAL formulation"
/// `with_minval` fills in minval (integers only) whatever the formulation.
[[nodiscard]] QParams qparams_of(const Ranges& ranges, const ResolvedSpec& spec,
                                 const UnitGrid& grid, bool with_minval = false);

/// unit_grid, measure_range and choose_qparams in a row: the mapping that fits `x` itself. For
/// weights.
[[nodiscard]] Mapping fit(const TensorView<const float>& x, const ResolvedSpec& spec,
                          int threads = 1);

/// Formula: q = clamp(round_half_even(x / scale) + zero_point, quant_min, quant_max)
///          minval: q = clamp(round_half_even((x - minval) / scale) + quant_min, quant_min,
///          quant_max)
/// Shapes:  `q` holds one element per value of x, row-major, in storage_size(dtype) bytes each
///          (below 8 bits: sign-extended in one byte; float formats: their byte, FP4 in the low
///          nibble).
void quantize(const TensorView<const float>& x, const Mapping& mapping, std::span<std::byte> q,
              int threads = 1);
void dequantize(std::span<const std::byte> q, const Mapping& mapping, TensorView<float> x,
                int threads = 1);
/// dequantize(quantize(x)) in one pass over memory; y may be x.
void fake_quantize(const TensorView<const float>& x, const Mapping& mapping, TensorView<float> y,
                   int threads = 1);

/// The same for data of any floating type, computed in float32 (float64: in float64).
/// Shapes: x and y have the shape of the grid; any strides.
/// Errors: invalid_argument if shapes, counts or sizes do not fit.
void quantize(const FloatView& x, const Mapping& mapping, std::span<std::byte> q, int threads = 1);
void dequantize(std::span<const std::byte> q, const Mapping& mapping, const FloatSpan& x,
                int threads = 1);
void fake_quantize(const FloatView& x, const Mapping& mapping, const FloatSpan& y, int threads = 1);
/// Codes and fake-quantized values in one pass over memory.
void quantize_and_fake_quantize(const FloatView& x, const Mapping& mapping, std::span<std::byte> q,
                                const FloatSpan& y, int threads = 1);

/// Gradient of fake_quantize with respect to x, straight through: 1 where the rounded code before
/// clamping lies in [quant_min, quant_max] (float formats: |x / scale| <= limit), 0 elsewhere.
/// Edge:   0 for NaN.
/// Shapes: one byte, 0 or 1, for each value of x, row-major.
/// Source: coreai-opt fake quantizer, backward
void gradient_mask(const FloatView& x, const Mapping& mapping, std::span<std::byte> mask);

/// Packs codes below 8 bits, the first lowest (ONNX), wider ones as they are; misfits are errors.
void pack(std::span<const std::byte> q, Dtype dtype, std::span<std::byte> packed);
void unpack(std::span<const std::byte> packed, Dtype dtype, std::span<std::byte> q);
[[nodiscard]] std::size_t packed_size(std::size_t count, Dtype dtype) noexcept;

}  // namespace halfstep
