#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <arm_neon.h>

namespace halfstep::kernels {
namespace {

struct Neon {
  using F = float32x4_t;
  using I = int32x4_t;
  using Flag = uint32x4_t;
  static constexpr std::size_t kWidth = 4;

  static void prefetch(const float* p) { __builtin_prefetch(p); }
  static F load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, F v) { vst1q_f32(p, v); }
  static F set(float v) { return vdupq_n_f32(v); }
  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F sub(F a, F b) { return vsubq_f32(a, b); }
  static F mul(F a, F b) { return vmulq_f32(a, b); }
  static F div(F a, F b) { return vdivq_f32(a, b); }
  // vminq_f32 would return NaN; the second operand is wanted.
  static F min(F a, F b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
  static F max(F a, F b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static F rint(F a) { return vrndnq_f32(a); }
  static Flag unordered(F a, F b) { return vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b))); }
  static Flag no_flag() { return vdupq_n_u32(0); }
  static Flag join(Flag a, Flag b) { return vorrq_u32(a, b); }
  static bool any(Flag a) { return vmaxvq_u32(a) != 0; }
  static F if_nan(F test, F yes, F no) { return vbslq_f32(vceqq_f32(test, test), no, yes); }
  static I if_nan(F test, I yes, I no) { return vbslq_s32(vceqq_f32(test, test), no, yes); }
  static float reduce_min(F a) { return vminvq_f32(a); }
  static float reduce_max(F a) { return vmaxvq_f32(a); }
  static F reduce_min_each(const F* v) {
    return vpminq_f32(vpminq_f32(v[0], v[1]), vpminq_f32(v[2], v[3]));
  }
  static F reduce_max_each(const F* v) {
    return vpmaxq_f32(vpmaxq_f32(v[0], v[1]), vpmaxq_f32(v[2], v[3]));
  }

  static I set_int(std::int32_t v) { return vdupq_n_s32(v); }
  static I load_int(const std::int32_t* p) { return vld1q_s32(p); }
  static I add_int(I a, I b) { return vaddq_s32(a, b); }
  static I sub_int(I a, I b) { return vsubq_s32(a, b); }
  static I max_int(I a, I b) { return vmaxq_s32(a, b); }
  static I and_int(I a, I b) { return vandq_s32(a, b); }
  static I or_int(I a, I b) { return vorrq_s32(a, b); }
  template <int kCount>
  static I shift_right(I a) {
    return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), kCount));
  }
  static I bits(F a) { return vreinterpretq_s32_f32(a); }
  static F from_bits(I a) { return vreinterpretq_f32_s32(a); }
  static I to_int(F a) { return vcvtnq_s32_f32(a); }
  static F to_float(I a) { return vcvtq_f32_s32(a); }
  static void store_codes(std::uint8_t* p, I v) {
    const int16x4_t halves = vmovn_s32(v);
    const int8x8_t bytes = vmovn_s16(vcombine_s16(halves, halves));
    const std::uint32_t word = vget_lane_u32(vreinterpret_u32_s8(bytes), 0);
    std::memcpy(p, &word, sizeof word);
  }
  static void store_codes(std::uint16_t* p, I v) {
    vst1_u16(p, vreinterpret_u16_s16(vmovn_s32(v)));
  }
  static I load_codes(const std::int8_t* p) {
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(load_4_bytes(p)))));
  }
  static I load_codes(const std::uint8_t* p) {
    return vreinterpretq_s32_u32(
        vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(load_4_bytes(p))))));
  }
  static I load_codes(const std::int16_t* p) { return vmovl_s16(vld1_s16(p)); }
  static I load_codes(const std::uint16_t* p) {
    return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)));
  }
  static F lookup(const float* table, I index) {
    const float values[4] = {table[vgetq_lane_s32(index, 0)], table[vgetq_lane_s32(index, 1)],
                             table[vgetq_lane_s32(index, 2)], table[vgetq_lane_s32(index, 3)]};
    return vld1q_f32(values);
  }

 private:
  static uint32x2_t load_4_bytes(const void* p) {
    std::uint32_t word;
    std::memcpy(&word, p, sizeof word);
    return vdup_n_u32(word);
  }
};

}  // namespace
}  // namespace halfstep::kernels
