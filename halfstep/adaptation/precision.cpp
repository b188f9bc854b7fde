#include "halfstep/adaptation/precision.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <variant>

#include "halfstep/core/dtype.h"

namespace halfstep {
namespace {

std::int64_t lowest_code(Dtype dtype) { return static_cast<std::int64_t>(info(dtype).lowest); }

bool has_codes(const Encoding& encoding) {
  return !encoding.is_float() && is_integer(encoding.dtype);
}

/// Types of fewer than 8 bits are stored in the 8-bit type of their sign.
Dtype container(Dtype dtype) {
  return bits(dtype) < 8 ? (is_signed_integer(dtype) ? Dtype::int8 : Dtype::uint8) : dtype;
}

Encoding as_float(const Encoding& encoding, Dtype dtype) {
  return {.dtype = dtype, .origin = encoding.origin};
}

/// Adds `offset` to every zero point.
void move_zero_points(Encoding& encoding, std::int64_t offset) {
  encoding.zero_point.resize(encoding.scale.size(), 0);
  for (std::int64_t& zero_point : encoding.zero_point) {
    zero_point += offset;
  }
}

std::int64_t zero_point_at(const Encoding& encoding, std::size_t unit) {
  return encoding.zero_point.empty() ? 0 : encoding.zero_point[unit];
}

/// The shortest text that reads back as the same number.
std::string number_text(float value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

int precedence(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float32:
    case Dtype::float64:
      return 7;
    case Dtype::int64:
    case Dtype::uint64:
    case Dtype::int32:
    case Dtype::uint32:
      return 5;
    case Dtype::int16:
    case Dtype::uint16:
      return 4;
    default:
      break;
  }
  if (is_floating(dtype)) {
    return 6;
  }
  return bits(dtype) > 4 ? 3 : bits(dtype) > 2 ? 2 : 1;
}

int precedence(KernelType type) noexcept {
  const std::optional<Dtype> dtype = dtype_of(type);
  return dtype ? precedence(*dtype) : 0;
}

int significant_bits(const Encoding& encoding) noexcept { return bits(encoding.dtype); }

std::optional<TypeChange> change_to(const Encoding& encoding, KernelType type) noexcept {
  const std::optional<Dtype> to = dtype_of(type);
  if (!to) {
    return std::nullopt;
  }
  const bool to_float = is_floating(*to);
  if (!has_codes(encoding)) {
    // Minifloats and bfloat16 have no kernels of their own: they count as float16.
    const int from = precedence(encoding.dtype);
    if (!to_float || precedence(*to) < from) {
      return std::nullopt;
    }
    return TypeChange{.rise = precedence(*to) - from};
  }
  const Dtype held = container(encoding.dtype);
  if (to_float) {
    return TypeChange{.rise = precedence(*to) - precedence(held)};
  }
  if (precedence(*to) < precedence(held)) {
    return std::nullopt;
  }
  return TypeChange{.rise = precedence(*to) - precedence(held),
                    .flips_sign = is_signed_integer(*to) != is_signed_integer(held)};
}

Encoding activation_as(const Encoding& encoding, KernelType type) {
  const Dtype to = *dtype_of(type);
  if (to == encoding.dtype) {
    return encoding;
  }
  if (is_floating(to)) {
    return as_float(encoding, to);
  }
  const int from_bits = bits(encoding.dtype), to_bits = bits(to);
  Encoding result = encoding;
  result.dtype = to;
  if (from_bits == to_bits) {
    move_zero_points(result, lowest_code(to) - lowest_code(encoding.dtype));
    return result;
  }
  const double shrink =
      (std::exp2(from_bits) - 1) / (std::exp2(to_bits) - 1);  // steps per step of the wider type
  result.zero_point.assign(encoding.scale.size(), 0);
  for (std::size_t i = 0; i < encoding.scale.size(); ++i) {
    const std::int64_t below_zero = zero_point_at(encoding, i) - lowest_code(encoding.dtype);
    result.scale[i] = static_cast<float>(static_cast<double>(encoding.scale[i]) * shrink);
    result.zero_point[i] = lowest_code(to) + std::llround(static_cast<double>(below_zero) / shrink);
  }
  return result;
}

Encoding static_as(const Encoding& encoding, KernelType type, int width) {
  const Dtype container_type = *dtype_of(type);
  if (is_floating(container_type)) {
    return as_float(encoding, container_type);
  }
  const int from = bits(encoding.dtype);
  const int to = bits(container_type) > 8 ? bits(container_type) : std::max(from, width);
  const bool to_signed = is_signed_integer(container_type);
  Encoding result = encoding;
  result.dtype = parse_dtype((to_signed ? "int" : "uint") + std::to_string(to));
  if (to_signed != is_signed_integer(encoding.dtype)) {
    // A signed type takes unsigned codes moved down by half their own range; an unsigned one takes
    // signed codes moved up by half its range: symmetric weights stay symmetric.
    const auto half = static_cast<std::int64_t>(std::exp2((to_signed ? from : to) - 1));
    move_zero_points(result, to_signed ? -half : half);
  }
  return result;
}

Encoding made_symmetric(const Encoding& encoding) {
  const RealRange range = real_range(encoding);
  const double half = std::exp2(bits(encoding.dtype) - 1);
  Encoding result = encoding;
  result.scale = {static_cast<float>(std::max(-range.low, range.high) / (half - 1))};
  result.zero_point = {is_signed_integer(encoding.dtype) ? 0 : static_cast<std::int64_t>(half)};
  result.origin = Origin::adapted;
  return result;
}

bool in_blocks(const Encoding& encoding) {
  return !encoding.block_scale.empty() || std::holds_alternative<PerBlock>(encoding.granularity);
}

bool same_numbers(const Encoding& a, const Encoding& b) {
  Encoding copy = b;
  copy.origin = a.origin;
  return a == copy;
}

RealRange real_range(const Encoding& encoding) {
  const double scale = encoding.scale[0];
  const auto zero = static_cast<double>(zero_point_at(encoding, 0));
  if (!encoding.minval.empty()) {
    const double low = encoding.minval[0];
    return {.low = low,
            .high = low + scale * (info(encoding.dtype).highest - info(encoding.dtype).lowest)};
  }
  return {.low = (info(encoding.dtype).lowest - zero) * scale,
          .high = (info(encoding.dtype).highest - zero) * scale};
}

Encoding encoding_over(RealRange range, Dtype dtype) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  const double steps = info(dtype).highest - info(dtype).lowest;
  const auto scale = static_cast<float>(
      std::max((high - low) / steps, static_cast<double>(std::numeric_limits<float>::min())));
  return {.dtype = dtype,
          .scale = {scale},
          .zero_point = {lowest_code(dtype) + std::llround(-low / scale)},
          .origin = Origin::adapted};
}

std::string describe(const Encoding& encoding) {
  std::string text(name(encoding.dtype));
  if (encoding.is_float()) {
    return text;
  }
  if (!encoding.block_scale.empty()) {
    return text + " LPBQ";
  }
  if (std::holds_alternative<PerChannel>(encoding.granularity)) {
    return text + " per channel (axis " +
           std::to_string(std::get<PerChannel>(encoding.granularity).axis.value_or(0)) + ")";
  }
  if (!std::holds_alternative<PerTensor>(encoding.granularity)) {
    return text + " per block";
  }
  text += " scale " + number_text(encoding.scale[0]);
  return text + " zero point " + std::to_string(zero_point_at(encoding, 0));
}

}  // namespace halfstep
