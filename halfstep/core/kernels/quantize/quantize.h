#pragma once

#include <cstddef>
#include <cstdint>

#include "halfstep/core/kernels/isa.h"

namespace halfstep::kernels {

/// How codes lie in memory: one element each.
enum class CodeType : std::uint8_t { int8, uint8, int16, uint16 };

/// A piece of a tensor to quantize or dequantize, row-major, and its parameters.
///
/// runs:    `rows` runs after one another of `length` values; run r has scale[r], ...
/// columns: `rows` rows of `length` values, `row_stride` apart; column c has scale[c], ...
///
/// Formula: q = clamp(rint((x - offset) / scale) + zero_point, low, high)
///          y = (q - zero_point) * scale + offset
/// Each operation is rounded once to float32. A NaN gives the code zero_point and the value NaN.
struct QuantizeArgs {
  const float* x = nullptr;  ///< in of quantize
  float* y = nullptr;        ///< values out; null: not wanted; may be x
  void* codes = nullptr;     ///< out of quantize (null: not wanted), in of dequantize
  CodeType code_type = CodeType::int8;
  std::size_t rows = 0, length = 0, row_stride = 0;
  const float* scale = nullptr;
  const std::int32_t* zero_point = nullptr;  ///< null: `one_zero_point` for all
  const float* offset = nullptr;             ///< null: 0 for all
  std::int32_t one_zero_point = 0;
  float low = 0, high = 0;
};

struct QuantizeKernels {
  Isa isa;
  void (*quantize_runs)(const QuantizeArgs&);
  void (*quantize_columns)(const QuantizeArgs&);
  void (*dequantize_runs)(const QuantizeArgs&);
  void (*dequantize_columns)(const QuantizeArgs&);
};

[[nodiscard]] const QuantizeKernels& quantize_kernels() noexcept;

extern const QuantizeKernels kQuantizeReference;
extern const QuantizeKernels kQuantizeAvx2;
extern const QuantizeKernels kQuantizeAvx512;
extern const QuantizeKernels kQuantizeNeon;

}  // namespace halfstep::kernels
