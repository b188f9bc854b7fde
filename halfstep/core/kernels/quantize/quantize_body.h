#pragma once

// The loops of quantize.h, written once over the vectors of an instruction set `S`.
#include <cstddef>
#include <cstdint>

#include "halfstep/core/kernels/quantize/quantize.h"
#include "halfstep/core/kernels/simd/scalar.h"

namespace halfstep::kernels {
namespace {

/// Parameters of one vector of values.
template <typename S>
struct Params {
  typename S::F scale, zero_point, offset;
  typename S::I zero_code;
};

template <typename S>
Params<S> run_params(const QuantizeArgs& args, std::size_t run) {
  const std::int32_t zero = args.zero_point != nullptr ? args.zero_point[run] : args.one_zero_point;
  return {S::set(args.scale[run]), S::set(static_cast<float>(zero)),
          S::set(args.offset != nullptr ? args.offset[run] : 0.0F), S::set_int(zero)};
}

template <typename S>
Params<S> column_params(const QuantizeArgs& args, std::size_t column) {
  const typename S::I zero = args.zero_point != nullptr ? S::load_int(args.zero_point + column)
                                                        : S::set_int(args.one_zero_point);
  return {S::load(args.scale + column), S::to_float(zero),
          args.offset != nullptr ? S::load(args.offset + column) : S::set(0.0F), zero};
}

/// One vector: codes and values as wanted.
template <typename S, typename Code, bool kCodes, bool kValues>
void quantize_step(const float* x, const Params<S>& p, typename S::F low, typename S::F high,
                   Code* codes, float* y) {
  typename S::F q = S::rint(S::div(S::sub(S::load(x), p.offset), p.scale));
  q = S::add(q, p.zero_point);
  // A NaN is the second operand, which min and max then return.
  q = S::min(high, S::max(low, q));
  if constexpr (kCodes) {
    S::store_codes(codes, S::if_nan(q, p.zero_code, S::to_int(S::if_nan(q, S::set(0.0F), q))));
  }
  if constexpr (kValues) {
    S::store(y, S::add(S::mul(S::sub(q, p.zero_point), p.scale), p.offset));
  }
}

template <typename S, typename Code, bool kCodes, bool kValues>
void quantize_span(const QuantizeArgs& args, std::size_t at, std::size_t count, const Params<S>& p,
                   const Params<Scalar>& tail) {
  const typename S::F low = S::set(args.low);
  const typename S::F high = S::set(args.high);
  const float* x = args.x + at;
  Code* codes = kCodes ? static_cast<Code*>(args.codes) + at : nullptr;
  float* y = kValues ? args.y + at : nullptr;
  std::size_t i = 0;
  for (; i + S::kWidth <= count; i += S::kWidth) {
    quantize_step<S, Code, kCodes, kValues>(x + i, p, low, high, kCodes ? codes + i : nullptr,
                                            kValues ? y + i : nullptr);
  }
  for (; i < count; ++i) {
    quantize_step<Scalar, Code, kCodes, kValues>(
        x + i, tail, args.low, args.high, kCodes ? codes + i : nullptr, kValues ? y + i : nullptr);
  }
}

template <typename S, typename Code, bool kCodes, bool kValues>
void quantize_runs_as(const QuantizeArgs& args) {
  for (std::size_t r = 0; r < args.rows; ++r) {
    quantize_span<S, Code, kCodes, kValues>(args, r * args.length, args.length,
                                            run_params<S>(args, r), run_params<Scalar>(args, r));
  }
}

template <typename S, typename Code, bool kCodes, bool kValues>
void quantize_columns_as(const QuantizeArgs& args) {
  const typename S::F low = S::set(args.low);
  const typename S::F high = S::set(args.high);
  for (std::size_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * args.row_stride;
    Code* codes = kCodes ? static_cast<Code*>(args.codes) + r * args.row_stride : nullptr;
    float* y = kValues ? args.y + r * args.row_stride : nullptr;
    std::size_t c = 0;
    for (; c + S::kWidth <= args.length; c += S::kWidth) {
      quantize_step<S, Code, kCodes, kValues>(x + c, column_params<S>(args, c), low, high,
                                              kCodes ? codes + c : nullptr,
                                              kValues ? y + c : nullptr);
    }
    for (; c < args.length; ++c) {
      quantize_step<Scalar, Code, kCodes, kValues>(x + c, column_params<Scalar>(args, c), args.low,
                                                   args.high, kCodes ? codes + c : nullptr,
                                                   kValues ? y + c : nullptr);
    }
  }
}

/// The low bytes of a code are the same whether it is signed or not.
template <typename S, typename Code>
void quantize_runs_into(const QuantizeArgs& args) {
  if (args.y == nullptr) {
    quantize_runs_as<S, Code, true, false>(args);
  } else {
    quantize_runs_as<S, Code, true, true>(args);
  }
}

template <typename S, typename Code>
void quantize_columns_into(const QuantizeArgs& args) {
  if (args.y == nullptr) {
    quantize_columns_as<S, Code, true, false>(args);
  } else {
    quantize_columns_as<S, Code, true, true>(args);
  }
}

inline bool is_byte(CodeType type) { return type == CodeType::int8 || type == CodeType::uint8; }

template <typename S>
void quantize_runs(const QuantizeArgs& args) {
  if (args.codes == nullptr) {
    quantize_runs_as<S, std::uint8_t, false, true>(args);
  } else if (is_byte(args.code_type)) {
    quantize_runs_into<S, std::uint8_t>(args);
  } else {
    quantize_runs_into<S, std::uint16_t>(args);
  }
}

template <typename S>
void quantize_columns(const QuantizeArgs& args) {
  if (args.codes == nullptr) {
    quantize_columns_as<S, std::uint8_t, false, true>(args);
  } else if (is_byte(args.code_type)) {
    quantize_columns_into<S, std::uint8_t>(args);
  } else {
    quantize_columns_into<S, std::uint16_t>(args);
  }
}

template <typename S, typename Code>
void dequantize_step(const Code* codes, const Params<S>& p, float* y) {
  const typename S::F q = S::to_float(S::load_codes(codes));
  S::store(y, S::add(S::mul(S::sub(q, p.zero_point), p.scale), p.offset));
}

template <typename S, typename Code>
void dequantize_runs_as(const QuantizeArgs& args) {
  for (std::size_t r = 0; r < args.rows; ++r) {
    const Params<S> p = run_params<S>(args, r);
    const Params<Scalar> tail = run_params<Scalar>(args, r);
    const Code* codes = static_cast<const Code*>(args.codes) + r * args.length;
    float* y = args.y + r * args.length;
    std::size_t i = 0;
    for (; i + S::kWidth <= args.length; i += S::kWidth) {
      dequantize_step<S>(codes + i, p, y + i);
    }
    for (; i < args.length; ++i) {
      dequantize_step<Scalar>(codes + i, tail, y + i);
    }
  }
}

template <typename S, typename Code>
void dequantize_columns_as(const QuantizeArgs& args) {
  for (std::size_t r = 0; r < args.rows; ++r) {
    const Code* codes = static_cast<const Code*>(args.codes) + r * args.row_stride;
    float* y = args.y + r * args.row_stride;
    std::size_t c = 0;
    for (; c + S::kWidth <= args.length; c += S::kWidth) {
      dequantize_step<S>(codes + c, column_params<S>(args, c), y + c);
    }
    for (; c < args.length; ++c) {
      dequantize_step<Scalar>(codes + c, column_params<Scalar>(args, c), y + c);
    }
  }
}

template <typename S>
void dequantize_runs(const QuantizeArgs& args) {
  switch (args.code_type) {
    case CodeType::int8:
      return dequantize_runs_as<S, std::int8_t>(args);
    case CodeType::uint8:
      return dequantize_runs_as<S, std::uint8_t>(args);
    case CodeType::int16:
      return dequantize_runs_as<S, std::int16_t>(args);
    case CodeType::uint16:
      return dequantize_runs_as<S, std::uint16_t>(args);
  }
}

template <typename S>
void dequantize_columns(const QuantizeArgs& args) {
  switch (args.code_type) {
    case CodeType::int8:
      return dequantize_columns_as<S, std::int8_t>(args);
    case CodeType::uint8:
      return dequantize_columns_as<S, std::uint8_t>(args);
    case CodeType::int16:
      return dequantize_columns_as<S, std::int16_t>(args);
    case CodeType::uint16:
      return dequantize_columns_as<S, std::uint16_t>(args);
  }
}

}  // namespace
}  // namespace halfstep::kernels
