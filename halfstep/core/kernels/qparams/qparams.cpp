#include "halfstep/core/kernels/qparams/qparams.h"

// Loops without branches or calls, of which the compiler makes vectors.

namespace halfstep::kernels {
namespace {

/// The larger of the two; NaN if one of them is.
float larger(float a, float b) {
  const float more = a > b ? a : b;
  return a == a ? more : a;
}

/// Round half to even by adding what leaves no fraction bits; beyond +-2^22 the result is not
/// exact, but then it is clamped anyway. NaN stays.
float rounded(float value) {
  constexpr float kMost = 0x1p22F;
  constexpr float kMagic = 0x1.8p23F;
  value = value < -kMost ? -kMost : value;
  value = value > kMost ? kMost : value;
  return (value + kMagic) - kMagic;
}

}  // namespace

void symmetric_qparams(const RangeArgs& ranges, float half_range, float eps, float* scale,
                       float* minval) noexcept {
  for (std::size_t i = 0; i < ranges.units; ++i) {
    const float wanted = larger(-ranges.min[i], ranges.max[i]) / half_range;
    scale[i] = wanted < eps ? eps : wanted;
  }
  for (std::size_t i = 0; minval != nullptr && i < ranges.units; ++i) {
    minval[i] = -larger(-ranges.min[i], ranges.max[i]);
  }
}

bool asymmetric_qparams(const RangeArgs& ranges, float steps, float eps,
                        const ZeroPointRange& codes, float* scale,
                        std::int32_t* zero_point) noexcept {
  const float infinity = __builtin_inff();
  int overflow = 0;
  for (std::size_t i = 0; i < ranges.units; ++i) {
    const float range = ranges.max[i] - ranges.min[i];
    const float wanted = range / steps;
    overflow |= range == infinity ? 1 : 0;
    scale[i] = wanted < eps ? eps : wanted;
  }
  for (std::size_t i = 0; i < ranges.units; ++i) {
    float code = codes.lowest - rounded(ranges.min[i] / scale[i]);
    code = code < codes.lowest ? codes.lowest : code;
    code = code > codes.highest ? codes.highest : code;
    const float valid = code == code ? code : 0.0F;
    const auto zero = static_cast<std::int32_t>(valid);
    zero_point[i] = code == code ? zero : codes.of_nan;
  }
  return overflow == 0;
}

}  // namespace halfstep::kernels
