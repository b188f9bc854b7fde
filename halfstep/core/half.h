#pragma once

#include <bit>
#include <cstdint>

namespace halfstep {

/// IEEE binary16, as bits.
struct Float16 {
  std::uint16_t bits = 0;
  bool operator==(const Float16&) const = default;
};
/// The upper half of a float32, as bits.
struct BFloat16 {
  std::uint16_t bits = 0;
  bool operator==(const BFloat16&) const = default;
};

[[nodiscard]] float to_float(Float16 value) noexcept;
[[nodiscard]] inline float to_float(BFloat16 value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
[[nodiscard]] inline float to_float(float value) noexcept { return value; }
[[nodiscard]] inline float to_float(double value) noexcept { return static_cast<float>(value); }

/// Round to nearest, ties to even; beyond the largest finite value: infinity; NaN: the quiet NaN.
[[nodiscard]] Float16 to_float16(float value) noexcept;
[[nodiscard]] BFloat16 to_bfloat16(float value) noexcept;

template <typename T>
[[nodiscard]] T from_float(float value) noexcept;
template <>
[[nodiscard]] inline float from_float<float>(float value) noexcept {
  return value;
}
template <>
[[nodiscard]] inline double from_float<double>(float value) noexcept {
  return value;
}
template <>
[[nodiscard]] inline Float16 from_float<Float16>(float value) noexcept {
  return to_float16(value);
}
template <>
[[nodiscard]] inline BFloat16 from_float<BFloat16>(float value) noexcept {
  return to_bfloat16(value);
}

}  // namespace halfstep
