#pragma once

#include <cstddef>
#include <cstdint>

namespace halfstep::kernels {

/// Ranges of units that hold zero, in float32.
struct RangeArgs {
  const float* min = nullptr;
  const float* max = nullptr;
  std::size_t units = 0;
};

/// scale = max(max(-min, max) / half_range, eps), NaN stays; minval (may be null) = -max(-min,
/// max).
void symmetric_qparams(const RangeArgs& ranges, float half_range, float eps, float* scale,
                       float* minval) noexcept;

/// The codes that a zero point may have, at most 2^16 in magnitude; `of_nan` is that of a NaN.
struct ZeroPointRange {
  float lowest, highest;
  std::int32_t of_nan;
};

/// scale = max((max - min) / steps, eps), zero_point = clamp(lowest - rint(min / scale)), each
/// operation rounded to float32. False if a range overflows to infinity.
bool asymmetric_qparams(const RangeArgs& ranges, float steps, float eps,
                        const ZeroPointRange& codes, float* scale,
                        std::int32_t* zero_point) noexcept;

}  // namespace halfstep::kernels
