#pragma once

// GCC 12 takes the undefined vectors inside its own intrinsics for mistakes.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <cstddef>
#include <cstdint>

#include <immintrin.h>

namespace halfstep::kernels {
namespace {

struct Avx512 {
  using F = __m512;
  using I = __m512i;
  using Flag = __mmask16;
  static constexpr std::size_t kWidth = 16;

  static void prefetch(const float* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static F set(float v) { return _mm512_set1_ps(v); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F rint(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static Flag unordered(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
  static Flag no_flag() { return 0; }
  static Flag join(Flag a, Flag b) { return static_cast<Flag>(a | b); }
  static bool any(Flag a) { return a != 0; }
  static F if_nan(F test, F yes, F no) {
    return _mm512_mask_blend_ps(unordered(test, test), no, yes);
  }
  static I if_nan(F test, I yes, I no) {
    return _mm512_mask_blend_epi32(unordered(test, test), no, yes);
  }
  static float reduce_min(F a) { return _mm512_reduce_min_ps(a); }
  static float reduce_max(F a) { return _mm512_reduce_max_ps(a); }
  static F reduce_min_each(const F* v) {
    return reduce_each(v, [](F a, F b) { return min(a, b); });
  }
  static F reduce_max_each(const F* v) {
    return reduce_each(v, [](F a, F b) { return max(a, b); });
  }

  static I set_int(std::int32_t v) { return _mm512_set1_epi32(v); }
  static I load_int(const std::int32_t* p) { return _mm512_loadu_si512(p); }
  static I add_int(I a, I b) { return _mm512_add_epi32(a, b); }
  static I sub_int(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I max_int(I a, I b) { return _mm512_max_epi32(a, b); }
  static I and_int(I a, I b) { return _mm512_and_epi32(a, b); }
  static I or_int(I a, I b) { return _mm512_or_epi32(a, b); }
  template <int kCount>
  static I shift_right(I a) {
    return _mm512_srli_epi32(a, kCount);
  }
  static I bits(F a) { return _mm512_castps_si512(a); }
  static F from_bits(I a) { return _mm512_castsi512_ps(a); }
  static I to_int(F a) { return _mm512_cvtps_epi32(a); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static void store_codes(std::uint8_t* p, I v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
  }
  static void store_codes(std::uint16_t* p, I v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(v));
  }
  static I load_codes(const std::int8_t* p) { return _mm512_cvtepi8_epi32(load_16_bytes(p)); }
  static I load_codes(const std::uint8_t* p) { return _mm512_cvtepu8_epi32(load_16_bytes(p)); }
  static I load_codes(const std::int16_t* p) { return _mm512_cvtepi16_epi32(load_32_bytes(p)); }
  static I load_codes(const std::uint16_t* p) { return _mm512_cvtepu16_epi32(load_32_bytes(p)); }
  static F lookup(const float* table, I index) { return _mm512_i32gather_ps(index, table, 4); }

 private:
  /// Pairs of vectors shrink into one, half of their lanes at a time, and end in order.
  template <typename Pick>
  static F reduce_each(const F* v, Pick pick) {
    F pairs[8], quads[4], halves[2];
    for (int i = 0; i < 8; ++i) {
      pairs[i] = pick(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]),
                      _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
    }
    for (int i = 0; i < 4; ++i) {
      const __m512d a = _mm512_castps_pd(pairs[2 * i]);
      const __m512d b = _mm512_castps_pd(pairs[2 * i + 1]);
      quads[i] = pick(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                      _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    for (int i = 0; i < 2; ++i) {
      halves[i] = pick(_mm512_shuffle_f32x4(quads[2 * i], quads[2 * i + 1], 0x44),
                       _mm512_shuffle_f32x4(quads[2 * i], quads[2 * i + 1], 0xee));
    }
    return pick(_mm512_shuffle_f32x4(halves[0], halves[1], 0x88),
                _mm512_shuffle_f32x4(halves[0], halves[1], 0xdd));
  }
  static __m128i load_16_bytes(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  static __m256i load_32_bytes(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
};

}  // namespace
}  // namespace halfstep::kernels
