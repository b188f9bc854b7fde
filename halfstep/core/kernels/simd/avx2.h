#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

namespace halfstep::kernels {
namespace {

struct Avx2 {
  using F = __m256;
  using I = __m256i;
  using Flag = __m256;
  static constexpr std::size_t kWidth = 8;

  static void prefetch(const float* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F v) { _mm256_storeu_ps(p, v); }
  static F set(float v) { return _mm256_set1_ps(v); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F rint(F a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Flag unordered(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
  static Flag no_flag() { return _mm256_setzero_ps(); }
  static Flag join(Flag a, Flag b) { return _mm256_or_ps(a, b); }
  static bool any(Flag a) { return _mm256_movemask_ps(a) != 0; }
  static F if_nan(F test, F yes, F no) { return _mm256_blendv_ps(no, yes, unordered(test, test)); }
  static I if_nan(F test, I yes, I no) {
    return _mm256_castps_si256(if_nan(test, _mm256_castsi256_ps(yes), _mm256_castsi256_ps(no)));
  }
  static float reduce_min(F a) {
    __m128 v = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    v = _mm_min_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_min_ss(v, _mm_movehdup_ps(v)));
  }
  static float reduce_max(F a) {
    __m128 v = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    v = _mm_max_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_max_ss(v, _mm_movehdup_ps(v)));
  }
  static F reduce_min_each(const F* v) {
    return reduce_each(v, [](F a, F b) { return min(a, b); });
  }
  static F reduce_max_each(const F* v) {
    return reduce_each(v, [](F a, F b) { return max(a, b); });
  }

  static I set_int(std::int32_t v) { return _mm256_set1_epi32(v); }
  static I load_int(const std::int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static I add_int(I a, I b) { return _mm256_add_epi32(a, b); }
  static I sub_int(I a, I b) { return _mm256_sub_epi32(a, b); }
  static I max_int(I a, I b) { return _mm256_max_epi32(a, b); }
  static I and_int(I a, I b) { return _mm256_and_si256(a, b); }
  static I or_int(I a, I b) { return _mm256_or_si256(a, b); }
  template <int kCount>
  static I shift_right(I a) {
    return _mm256_srli_epi32(a, kCount);
  }
  static I bits(F a) { return _mm256_castps_si256(a); }
  static F from_bits(I a) { return _mm256_castsi256_ps(a); }
  static I to_int(F a) { return _mm256_cvtps_epi32(a); }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  static void store_codes(std::uint8_t* p, I v) {
    const __m256i low_bytes = _mm256_set1_epi32(0x0c080400);
    const __m256i bytes = _mm256_shuffle_epi8(v, low_bytes);
    _mm_storel_epi64(
        reinterpret_cast<__m128i*>(p),
        _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
  }
  static void store_codes(std::uint16_t* p, I v) {
    const __m256i kept = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(p),
        _mm_packus_epi32(_mm256_castsi256_si128(kept), _mm256_extracti128_si256(kept, 1)));
  }
  static I load_codes(const std::int8_t* p) { return _mm256_cvtepi8_epi32(load_8_bytes(p)); }
  static I load_codes(const std::uint8_t* p) { return _mm256_cvtepu8_epi32(load_8_bytes(p)); }
  static I load_codes(const std::int16_t* p) { return _mm256_cvtepi16_epi32(load_16_bytes(p)); }
  static I load_codes(const std::uint16_t* p) { return _mm256_cvtepu16_epi32(load_16_bytes(p)); }
  static F lookup(const float* table, I index) { return _mm256_i32gather_ps(table, index, 4); }

 private:
  /// Pairs of vectors shrink into one, half of their lanes at a time, and end in order.
  template <typename Pick>
  static F reduce_each(const F* v, Pick pick) {
    F pairs[4], quads[2];
    for (int i = 0; i < 4; ++i) {
      pairs[i] = pick(_mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]),
                      _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]));
    }
    for (int i = 0; i < 2; ++i) {
      const __m256d a = _mm256_castps_pd(pairs[2 * i]);
      const __m256d b = _mm256_castps_pd(pairs[2 * i + 1]);
      quads[i] = pick(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)),
                      _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
    }
    return pick(_mm256_permute2f128_ps(quads[0], quads[1], 0x20),
                _mm256_permute2f128_ps(quads[0], quads[1], 0x31));
  }
  static __m128i load_8_bytes(const void* p) {
    return _mm_loadl_epi64(static_cast<const __m128i*>(p));
  }
  static __m128i load_16_bytes(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
};

}  // namespace
}  // namespace halfstep::kernels
