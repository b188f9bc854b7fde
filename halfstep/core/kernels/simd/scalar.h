#pragma once

// The operations that kernels are written in, one value at a time. The other headers of this folder
// offer the same on vectors; the anonymous namespaces keep every instruction set to its own file.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace halfstep::kernels {
namespace {

struct Scalar {
  using F = float;
  using I = std::int32_t;
  using Flag = bool;
  static constexpr std::size_t kWidth = 1;

  static void prefetch(const float*) {}
  static F load(const float* p) { return *p; }
  static void store(float* p, F v) { *p = v; }
  static F set(float v) { return v; }
  static F add(F a, F b) { return a + b; }
  static F sub(F a, F b) { return a - b; }
  static F mul(F a, F b) { return a * b; }
  static F div(F a, F b) { return a / b; }
  /// The second operand if either is NaN, or if both are zero.
  static F min(F a, F b) { return a < b ? a : b; }
  static F max(F a, F b) { return a > b ? a : b; }
  static F rint(F a) { return __builtin_rintf(a); }
  static Flag unordered(F a, F b) { return __builtin_isunordered(a, b); }
  static Flag no_flag() { return false; }
  static Flag join(Flag a, Flag b) { return a || b; }
  static bool any(Flag a) { return a; }
  static F if_nan(F test, F yes, F no) { return __builtin_isnan(test) ? yes : no; }
  static I if_nan(F test, I yes, I no) { return __builtin_isnan(test) ? yes : no; }
  static float reduce_min(F a) { return a; }
  static float reduce_max(F a) { return a; }
  /// Lane i of the result is the smallest (largest) of the lanes of v[i]; v holds kWidth vectors.
  static F reduce_min_each(const F* v) { return v[0]; }
  static F reduce_max_each(const F* v) { return v[0]; }

  static I set_int(std::int32_t v) { return v; }
  static I load_int(const std::int32_t* p) { return *p; }
  static I add_int(I a, I b) { return a + b; }
  static I sub_int(I a, I b) { return a - b; }
  static I max_int(I a, I b) { return a > b ? a : b; }
  static I and_int(I a, I b) { return a & b; }
  static I or_int(I a, I b) { return a | b; }
  template <int kCount>
  static I shift_right(I a) {
    return static_cast<I>(static_cast<std::uint32_t>(a) >> kCount);
  }
  static I bits(F a) {
    I v;
    std::memcpy(&v, &a, sizeof v);
    return v;
  }
  static F from_bits(I a) {
    F v;
    std::memcpy(&v, &a, sizeof v);
    return v;
  }
  /// To nearest; `a` is a whole number that fits.
  static I to_int(F a) { return static_cast<I>(a); }
  static F to_float(I a) { return static_cast<F>(a); }
  static void store_codes(std::uint8_t* p, I v) { *p = static_cast<std::uint8_t>(v); }
  static void store_codes(std::uint16_t* p, I v) { *p = static_cast<std::uint16_t>(v); }
  static I load_codes(const std::int8_t* p) { return *p; }
  static I load_codes(const std::uint8_t* p) { return *p; }
  static I load_codes(const std::int16_t* p) { return *p; }
  static I load_codes(const std::uint16_t* p) { return *p; }
  static F lookup(const float* table, I index) { return table[index]; }
};

}  // namespace
}  // namespace halfstep::kernels
