#pragma once

#include <array>
#include <cstdint>

#include "halfstep/core/spec.h"

namespace halfstep {

/// Bytes to values; every code of the format. FP4 uses the low nibble, e8m0 0xff is NaN.
[[nodiscard]] float e4m3fn_to_float(std::uint8_t code) noexcept;
[[nodiscard]] float e5m2_to_float(std::uint8_t code) noexcept;
[[nodiscard]] float e2m1_to_float(std::uint8_t code) noexcept;
[[nodiscard]] float e8m0_to_float(std::uint8_t code) noexcept;

/// Values to bytes: nearest, ties to even. NaN is 0x7f.
/// Beyond the range e4m3fn saturates (infinity too), e5m2 becomes infinity from 61440 on,
/// e2m1 saturates (and makes 0 of NaN, which it lacks).
[[nodiscard]] std::uint8_t float_to_e4m3fn(float value) noexcept;
[[nodiscard]] std::uint8_t float_to_e5m2(float value) noexcept;
[[nodiscard]] std::uint8_t float_to_e2m1(float value) noexcept;
/// The sign is dropped; the nearest power of two, a tie upwards; 0xff beyond 2^127 and for
/// infinity and NaN.
[[nodiscard]] std::uint8_t float_to_e8m0(float value) noexcept;

/// The power-of-two scale of a unit whose largest magnitude is `max_abs`.
///
/// Formula: 2^clamp(e - p, -126, 127), p the exponent of the largest power of two in `dtype`
///          (2 for FP4, 8 for e4m3fn, 15 for e5m2, 6 for int8), and e by mode:
///          floor  exponent of max_abs;  ceil  next power of two;
///          fit    smallest scale at which max_abs does not exceed the largest value of `dtype`;
///          even   exponent after max_abs was rounded (ties to even) to the precision of `dtype`
/// Edge:    zero and subnormal: 2^-126. Infinity and NaN: 2^(128 - p).
/// Source:  OCP Microscaling Formats 1.0; coreai-opt for floor
[[nodiscard]] float e8m0_scale(float max_abs, Dtype dtype, E8m0Mode mode) noexcept;

/// Values of the 256 bytes of float8_e4m3fn, float8_e5m2 or float4_e2m1fn_x2 (high nibble ignored).
[[nodiscard]] const std::array<float, 256>& decoded_bytes(Dtype dtype) noexcept;

}  // namespace halfstep
