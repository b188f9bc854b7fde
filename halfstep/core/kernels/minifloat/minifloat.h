#pragma once

#include <cstddef>
#include <cstdint>

#include "halfstep/core/kernels/isa.h"

namespace halfstep::kernels {

enum class Minifloat : std::uint8_t { e4m3fn, e5m2, e2m1 };

/// As QuantizeArgs, for FP8 and FP4: r = clamp(x / scale, -limit, limit), rounded to the format
/// (nearest, ties to even), y = r * scale. Codes are one byte each, FP4 in the low nibble.
/// A NaN stays NaN; its code is 0x7f (FP8) or 0 (FP4, which has no NaN).
struct MinifloatArgs {
  const float* x = nullptr;
  float* y = nullptr;
  std::uint8_t* codes = nullptr;
  Minifloat format = Minifloat::e4m3fn;
  std::size_t rows = 0, length = 0, row_stride = 0;
  const float* scale = nullptr;
  const float* decoded = nullptr;  ///< dequantize: value of each of the 256 bytes
};

struct MinifloatKernels {
  Isa isa;
  void (*quantize_runs)(const MinifloatArgs&);
  void (*quantize_columns)(const MinifloatArgs&);
  void (*dequantize_runs)(const MinifloatArgs&);
  void (*dequantize_columns)(const MinifloatArgs&);
};

[[nodiscard]] const MinifloatKernels& minifloat_kernels() noexcept;

extern const MinifloatKernels kMinifloatReference;
extern const MinifloatKernels kMinifloatAvx2;
extern const MinifloatKernels kMinifloatAvx512;
extern const MinifloatKernels kMinifloatNeon;

}  // namespace halfstep::kernels
