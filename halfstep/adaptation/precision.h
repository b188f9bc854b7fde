#pragma once

#include <optional>
#include <string>

#include "halfstep/encodings/encoding.h"
#include "halfstep/targets/kernel_facts.h"

namespace halfstep {

/// Place of a number format in the precedence float32 > float16 > int32 > int16 > int8 > int4 >
/// int2 (7 to 1). A format outside the list counts as the next listed one that holds all its
/// values: int3 as int4, int5 to int7 as int8, FP4, FP8 and bfloat16 as float16; unsigned as signed
/// of its width. Source: QAIRT quantization specification, "Select op precision".
[[nodiscard]] int precedence(Dtype dtype) noexcept;
[[nodiscard]] int precedence(KernelType type) noexcept;

/// Significant bits of stored codes: the width that a weight rule speaks of.
[[nodiscard]] int significant_bits(const Encoding& encoding) noexcept;

/// How much of a change it is to store `encoding` as `type`.
struct TypeChange {
  int rise = 0;  ///< steps of precedence, 0: the same
  bool flips_sign = false;
  [[nodiscard]] bool none() const noexcept { return rise == 0 && !flips_sign; }
};
/// Empty if `type` is lower in precedence, or holds no numbers. Codes of fewer bits may travel in
/// an 8-bit type: no change.
[[nodiscard]] std::optional<TypeChange> change_to(const Encoding& encoding,
                                                  KernelType type) noexcept;

/// What an activation becomes when it is stored as `type`.
///   the same type     bit for bit what it was
///   opposite sign     same scale, zero point moved by 2^(bits-1)
///   wider             same real range: scale' = scale (2^b - 1) / (2^b' - 1), the zero point
///                     recomputed so that 0 stays exact
///   float             no scale
[[nodiscard]] Encoding activation_as(const Encoding& encoding, KernelType type);

/// What a static tensor becomes: a wider type or the opposite sign keeps the values of all codes
/// (same scale, zero point moved by 2^(bits-1) where the sign changes); float: no scale.
/// `width`: significant bits in an 8-bit type, 0: as before.
[[nodiscard]] Encoding static_as(const Encoding& encoding, KernelType type, int width = 0);

/// The symmetric encoding of the same type that covers the same values: zero point in the middle,
/// scale = largest magnitude / (2^(bits-1) - 1). Per tensor.
[[nodiscard]] Encoding made_symmetric(const Encoding& encoding);

/// Scales per block, or LPBQ.
[[nodiscard]] bool in_blocks(const Encoding& encoding);

/// Equal but for where they come from.
[[nodiscard]] bool same_numbers(const Encoding& a, const Encoding& b);

/// Smallest and largest value of a per-tensor encoding.
struct RealRange {
  double low = 0, high = 0;
};
[[nodiscard]] RealRange real_range(const Encoding& encoding);

/// The per-tensor integer encoding that covers a range and 0: scale = (high - low) / (2^bits - 1),
/// zero point = the code nearest to 0.
[[nodiscard]] Encoding encoding_over(RealRange range, Dtype dtype);

/// "uint8 scale 0.0235 zero point 128", "int4 per channel", "float16"
[[nodiscard]] std::string describe(const Encoding& encoding);

}  // namespace halfstep
