#pragma once

// The loops of minifloat.h, written once over the vectors of an instruction set `S`.
#include <cstddef>
#include <cstdint>

#include "halfstep/core/kernels/minifloat/minifloat.h"
#include "halfstep/core/kernels/simd/scalar.h"

namespace halfstep::kernels {
namespace {

struct E4m3fn {
  static constexpr int kMantissaBits = 3, kMinExponent = -6, kSignShift = 24, kNanCode = 0x7f;
  static constexpr float kLimit = 448;
};
struct E5m2 {
  static constexpr int kMantissaBits = 2, kMinExponent = -14, kSignShift = 24, kNanCode = 0x7f;
  static constexpr float kLimit = 57344;
};
struct E2m1 {
  static constexpr int kMantissaBits = 1, kMinExponent = 0, kSignShift = 28, kNanCode = 0;
  static constexpr float kLimit = 6;
};

constexpr std::int32_t kSignBit = INT32_MIN;

/// Adding 2^(23 + e - m) to a value of exponent e leaves only its first m fraction bits, rounded
/// to even by the addition itself; below the smallest exponent the same step is kept (subnormals).
template <typename S, typename Format, bool kCodes, bool kValues>
void minifloat_step(const float* x, typename S::F scale, std::uint8_t* codes, float* y) {
  using F = typename S::F;
  using I = typename S::I;
  constexpr int kShift = 23 - Format::kMantissaBits;
  constexpr std::int32_t kLowestExponent = (127 + Format::kMinExponent) << 23;
  const F limit = S::set(Format::kLimit);
  F r = S::div(S::load(x), scale);
  r = S::min(limit, S::max(S::set(-Format::kLimit), r));
  const I sign = S::and_int(S::bits(r), S::set_int(kSignBit));
  const I magnitude = S::and_int(S::bits(r), S::set_int(INT32_MAX));
  const I exponent =
      S::max_int(S::and_int(magnitude, S::set_int(0x7f800000)), S::set_int(kLowestExponent));
  // Of a NaN the exponent would overflow: any other step will do.
  const I step =
      S::add_int(S::if_nan(r, S::set_int(kLowestExponent), exponent), S::set_int(kShift << 23));
  const F sum = S::add(S::from_bits(magnitude), S::from_bits(step));
  if constexpr (kCodes) {
    const I steps = S::sub_int(S::bits(sum), step);
    const I base =
        S::template shift_right<kShift>(S::sub_int(exponent, S::set_int(kLowestExponent)));
    const I code =
        S::or_int(S::add_int(base, steps), S::template shift_right<Format::kSignShift>(sign));
    S::store_codes(codes, S::if_nan(r, S::set_int(Format::kNanCode), code));
  }
  if constexpr (kValues) {
    const I value = S::or_int(S::bits(S::sub(sum, S::from_bits(step))), sign);
    S::store(y, S::mul(S::from_bits(value), scale));
  }
}

template <typename S, typename Format, bool kCodes, bool kValues>
void minifloat_runs_as(const MinifloatArgs& args) {
  for (std::size_t r = 0; r < args.rows; ++r) {
    const float scale = args.scale[r];
    const float* x = args.x + r * args.length;
    std::uint8_t* codes = kCodes ? args.codes + r * args.length : nullptr;
    float* y = kValues ? args.y + r * args.length : nullptr;
    std::size_t i = 0;
    for (; i + S::kWidth <= args.length; i += S::kWidth) {
      minifloat_step<S, Format, kCodes, kValues>(x + i, S::set(scale), kCodes ? codes + i : nullptr,
                                                 kValues ? y + i : nullptr);
    }
    for (; i < args.length; ++i) {
      minifloat_step<Scalar, Format, kCodes, kValues>(x + i, scale, kCodes ? codes + i : nullptr,
                                                      kValues ? y + i : nullptr);
    }
  }
}

template <typename S, typename Format, bool kCodes, bool kValues>
void minifloat_columns_as(const MinifloatArgs& args) {
  for (std::size_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.row_stride;
    std::uint8_t* codes = kCodes ? args.codes + r * args.row_stride : nullptr;
    float* y = kValues ? args.y + r * args.row_stride : nullptr;
    std::size_t c = 0;
    for (; c + S::kWidth <= args.length; c += S::kWidth) {
      minifloat_step<S, Format, kCodes, kValues>(
          x + c, S::load(args.scale + c), kCodes ? codes + c : nullptr, kValues ? y + c : nullptr);
    }
    for (; c < args.length; ++c) {
      minifloat_step<Scalar, Format, kCodes, kValues>(
          x + c, args.scale[c], kCodes ? codes + c : nullptr, kValues ? y + c : nullptr);
    }
  }
}

template <typename S, typename Format>
void minifloat_runs_of(const MinifloatArgs& args) {
  if (args.codes == nullptr) {
    minifloat_runs_as<S, Format, false, true>(args);
  } else if (args.y == nullptr) {
    minifloat_runs_as<S, Format, true, false>(args);
  } else {
    minifloat_runs_as<S, Format, true, true>(args);
  }
}

template <typename S, typename Format>
void minifloat_columns_of(const MinifloatArgs& args) {
  if (args.codes == nullptr) {
    minifloat_columns_as<S, Format, false, true>(args);
  } else if (args.y == nullptr) {
    minifloat_columns_as<S, Format, true, false>(args);
  } else {
    minifloat_columns_as<S, Format, true, true>(args);
  }
}

template <typename S>
void minifloat_runs(const MinifloatArgs& args) {
  switch (args.format) {
    case Minifloat::e4m3fn:
      return minifloat_runs_of<S, E4m3fn>(args);
    case Minifloat::e5m2:
      return minifloat_runs_of<S, E5m2>(args);
    case Minifloat::e2m1:
      return minifloat_runs_of<S, E2m1>(args);
  }
}

template <typename S>
void minifloat_columns(const MinifloatArgs& args) {
  switch (args.format) {
    case Minifloat::e4m3fn:
      return minifloat_columns_of<S, E4m3fn>(args);
    case Minifloat::e5m2:
      return minifloat_columns_of<S, E5m2>(args);
    case Minifloat::e2m1:
      return minifloat_columns_of<S, E2m1>(args);
  }
}

template <typename S>
void minifloat_decode_step(const MinifloatArgs& args, std::size_t at, typename S::F scale) {
  const std::uint8_t* codes = args.codes + at;
  S::store(args.y + at, S::mul(S::lookup(args.decoded, S::load_codes(codes)), scale));
}

template <typename S>
void minifloat_decode_runs(const MinifloatArgs& args) {
  for (std::size_t r = 0; r < args.rows; ++r) {
    const std::size_t end = (r + 1) * args.length;
    std::size_t i = r * args.length;
    for (; i + S::kWidth <= end; i += S::kWidth) {
      minifloat_decode_step<S>(args, i, S::set(args.scale[r]));
    }
    for (; i < end; ++i) {
      minifloat_decode_step<Scalar>(args, i, args.scale[r]);
    }
  }
}

template <typename S>
void minifloat_decode_columns(const MinifloatArgs& args) {
  for (std::size_t r = 0; r < args.rows; ++r) {
    std::size_t c = 0;
    for (; c + S::kWidth <= args.length; c += S::kWidth) {
      minifloat_decode_step<S>(args, r * args.row_stride + c, S::load(args.scale + c));
    }
    for (; c < args.length; ++c) {
      minifloat_decode_step<Scalar>(args, r * args.row_stride + c, args.scale[c]);
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels
