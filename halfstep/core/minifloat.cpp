#include "halfstep/core/minifloat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

namespace halfstep {
namespace {

constexpr std::uint32_t kSignBit = 0x80000000U;

struct Format {
  int mantissa_bits, bias, sign_shift;
  float limit;
};
constexpr Format kE4m3fn{3, 7, 7, 448};
constexpr Format kE5m2{2, 15, 7, 57344};
constexpr Format kE2m1{1, 1, 3, 6};

float decode(std::uint32_t code, const Format& format) {
  const std::uint32_t sign = (code >> format.sign_shift) & 1U;
  const std::uint32_t magnitude = code & ((1U << format.sign_shift) - 1U);
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint32_t fraction = magnitude & ((1U << format.mantissa_bits) - 1U);
  const std::uint32_t hidden = exponent == 0 ? 0U : 1U << format.mantissa_bits;
  const float value = std::ldexp(static_cast<float>(hidden | fraction),
                                 std::max(exponent, 1) - format.bias - format.mantissa_bits);
  return sign != 0 ? -value : value;
}

/// Nearest even; `value` is finite and within the range.
std::uint32_t encode(float value, const Format& format) {
  const float magnitude = std::abs(value);
  const int exponent = std::max(magnitude == 0 ? -200 : std::ilogb(magnitude), 1 - format.bias);
  const float steps = std::rint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const auto code =
      static_cast<std::uint32_t>(steps) +
      (static_cast<std::uint32_t>(exponent + format.bias - 1) << format.mantissa_bits);
  return code | (std::signbit(value) ? 1U << format.sign_shift : 0U);
}

/// Exponent of the largest power of two of the type, its fraction bits, and its largest value.
struct ScaleFacts {
  int largest_power, fraction_bits;
  float largest_value;
};

ScaleFacts scale_facts(Dtype dtype) {
  switch (dtype) {
    case Dtype::float4_e2m1fn_x2:
      return {2, 1, 6};
    case Dtype::float8_e4m3fn:
      return {8, 3, 448};
    case Dtype::float8_e5m2:
      return {15, 2, 57344};
    default:
      return {6, 6, 127};
  }
}

/// max_abs is finite and normal.
int scale_exponent(float max_abs, const ScaleFacts& facts, E8m0Mode mode) {
  const int exponent = std::ilogb(max_abs);
  switch (mode) {
    case E8m0Mode::floor:
      return exponent;
    case E8m0Mode::ceil:
      return exponent + (max_abs == std::ldexp(1.0F, exponent) ? 0 : 1);
    case E8m0Mode::fit: {
      const double largest =
          std::ldexp(static_cast<double>(facts.largest_value), exponent - facts.largest_power);
      return exponent + (max_abs > largest ? 1 : 0);
    }
    case E8m0Mode::even: {
      const double steps =
          std::rint(std::ldexp(static_cast<double>(max_abs), facts.fraction_bits - exponent));
      return exponent + (steps >= std::ldexp(1.0, facts.fraction_bits + 1) ? 1 : 0);
    }
  }
  return exponent;
}

std::array<float, 256> decode_all(float (*decode_one)(std::uint8_t) noexcept) {
  std::array<float, 256> values{};
  for (std::size_t code = 0; code < values.size(); ++code) {
    values[code] = decode_one(static_cast<std::uint8_t>(code));
  }
  return values;
}

}  // namespace

float e4m3fn_to_float(std::uint8_t code) noexcept {
  return (code & 0x7f) == 0x7f ? std::numeric_limits<float>::quiet_NaN() : decode(code, kE4m3fn);
}

float e5m2_to_float(std::uint8_t code) noexcept {
  const int magnitude = code & 0x7f;
  if (magnitude > 0x7c) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (magnitude == 0x7c) {
    const float infinity = std::numeric_limits<float>::infinity();
    return (code & 0x80) != 0 ? -infinity : infinity;
  }
  return decode(code, kE5m2);
}

float e2m1_to_float(std::uint8_t code) noexcept { return decode(code & 0xfU, kE2m1); }

float e8m0_to_float(std::uint8_t code) noexcept {
  return code == 0xff ? std::numeric_limits<float>::quiet_NaN()
                      : std::ldexp(1.0F, static_cast<int>(code) - 127);
}

std::uint8_t float_to_e4m3fn(float value) noexcept {
  if (std::isnan(value)) {
    return 0x7f;
  }
  return static_cast<std::uint8_t>(
      encode(std::clamp(value, -kE4m3fn.limit, kE4m3fn.limit), kE4m3fn));
}

std::uint8_t float_to_e5m2(float value) noexcept {
  if (std::isnan(value)) {
    return 0x7f;
  }
  if (std::abs(value) >= 61440) {
    return std::signbit(value) ? 0xfc : 0x7c;
  }
  return static_cast<std::uint8_t>(encode(value, kE5m2));
}

std::uint8_t float_to_e2m1(float value) noexcept {
  if (std::isnan(value)) {
    return 0;
  }
  return static_cast<std::uint8_t>(encode(std::clamp(value, -kE2m1.limit, kE2m1.limit), kE2m1));
}

std::uint8_t float_to_e8m0(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & ~kSignBit;
  const std::uint32_t exponent = bits >> 23;
  if (exponent == 0xff) {
    return 0xff;
  }
  if (exponent == 0) {  // subnormal: nearer to 2^-126 than to 2^-127, or not
    return bits > 0x400000U ? 1 : 0;
  }
  return static_cast<std::uint8_t>(exponent + ((bits >> 22) & 1U));
}

float e8m0_scale(float max_abs, Dtype dtype, E8m0Mode mode) noexcept {
  const ScaleFacts facts = scale_facts(dtype);
  if (mode == E8m0Mode::floor) {  // the exponent field alone decides, that of infinity and NaN too
    const int field = static_cast<int>((std::bit_cast<std::uint32_t>(max_abs) >> 23) & 0xffU);
    const int exponent = std::clamp(field - facts.largest_power, 1, 254);
    return std::bit_cast<float>(static_cast<std::uint32_t>(exponent) << 23);
  }
  const float smallest = std::numeric_limits<float>::min();
  if (!std::isfinite(max_abs)) {
    return std::ldexp(1.0F, 128 - facts.largest_power);
  }
  if (max_abs < smallest) {
    return smallest;
  }
  const int exponent = scale_exponent(max_abs, facts, mode) - facts.largest_power;
  return std::ldexp(1.0F, std::clamp(exponent, -126, 127));
}

const std::array<float, 256>& decoded_bytes(Dtype dtype) noexcept {
  static const std::array<float, 256> e4m3fn = decode_all(e4m3fn_to_float);
  static const std::array<float, 256> e5m2 = decode_all(e5m2_to_float);
  static const std::array<float, 256> e2m1 = decode_all(e2m1_to_float);
  return dtype == Dtype::float8_e4m3fn ? e4m3fn : dtype == Dtype::float8_e5m2 ? e5m2 : e2m1;
}

}  // namespace halfstep
