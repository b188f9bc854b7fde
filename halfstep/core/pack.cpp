#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// Values below 8 bits lie one after another, low bits first, across bytes where 8 is no multiple.
bool is_packed(Dtype dtype) { return bits(dtype) < 8; }

void check_sizes(std::size_t unpacked, std::size_t packed, Dtype dtype) {
  const std::size_t count = unpacked / storage_size(dtype);
  if (unpacked % storage_size(dtype) != 0 || packed != packed_size(count, dtype)) {
    throw Error(ErrorKind::invalid_argument, std::to_string(unpacked) + " bytes of " +
                                                 std::string(name(dtype)) + " codes pack to " +
                                                 std::to_string(packed_size(count, dtype)) +
                                                 " bytes; found " + std::to_string(packed));
  }
}

std::uint64_t every_byte(std::uint64_t byte) { return byte * 0x0101010101010101U; }

/// The bits of 8 codes that must not be set: those above the width of unsigned ones, and those that
/// differ from their neighbour in the sign of signed ones.
std::uint64_t stray_bits(std::uint64_t codes, Dtype dtype) {
  const std::uint64_t above = every_byte(0xffU << bits(dtype) & 0xffU);
  return (is_signed_integer(dtype) ? codes ^ codes << 1 : codes) & above;
}

void check_codes(std::span<const std::byte> q, Dtype dtype) {
  std::uint64_t stray = 0;
  std::size_t i = 0;
  for (; i + 8 <= q.size(); i += 8) {
    std::uint64_t codes = 0;
    std::memcpy(&codes, q.data() + i, 8);
    stray |= stray_bits(codes, dtype);
  }
  const auto is_stray = [&](std::byte code) {
    return stray_bits(std::to_integer<std::uint64_t>(code), dtype) != 0;
  };
  if (stray == 0 && std::none_of(q.begin() + static_cast<std::ptrdiff_t>(i), q.end(), is_stray)) {
    return;
  }
  const auto found = std::find_if(q.begin(), q.end(), is_stray);
  const int code = is_signed_integer(dtype) ? static_cast<std::int8_t>(*found)
                                            : static_cast<std::uint8_t>(*found);
  throw Error(ErrorKind::invalid_argument, "the code " + std::to_string(code) + " at position " +
                                               std::to_string(found - q.begin()) +
                                               " does not fit the " + std::to_string(bits(dtype)) +
                                               " bits of " + std::string(name(dtype)));
}

/// 8 codes, one a byte, to 8 * kWidth bits: neighbours move together, twice as far each time.
template <int kWidth>
std::uint64_t squeeze(std::uint64_t codes) {
  static_assert(kWidth == 2 || kWidth == 4);
  codes &= every_byte(kWidth == 4 ? 0x0f : 0x03);
  constexpr int kGap = 8 - kWidth;
  codes = (codes | codes >> kGap) & (kWidth == 4 ? 0x00ff00ff00ff00ffU : 0x000f000f000f000fU);
  codes = (codes | codes >> (2 * kGap)) & (kWidth == 4 ? 0x0000ffff0000ffffU : 0x000000ff000000ffU);
  return (codes | codes >> (4 * kGap)) & (kWidth == 4 ? 0xffffffffU : 0xffffU);
}

template <int kWidth>
std::uint64_t spread(std::uint64_t bits, bool is_signed) {
  constexpr int kGap = 8 - kWidth;
  bits = (bits | bits << (4 * kGap)) & (kWidth == 4 ? 0x0000ffff0000ffffU : 0x000000ff000000ffU);
  bits = (bits | bits << (2 * kGap)) & (kWidth == 4 ? 0x00ff00ff00ff00ffU : 0x000f000f000f000fU);
  bits = (bits | bits << kGap) & every_byte(kWidth == 4 ? 0x0f : 0x03);
  if (!is_signed) {
    return bits;
  }
  // (code ^ sign) - sign in every byte; the top bit keeps bytes from borrowing of each other.
  const std::uint64_t sign = every_byte(kWidth == 4 ? 0x08 : 0x02);
  return (((bits ^ sign) | every_byte(0x80)) - sign) ^ every_byte(0x80);
}

/// Eight codes at a time; returns how many were done.
template <int kWidth>
std::size_t pack_words(std::span<const std::byte> q, std::span<std::byte> packed) {
  std::size_t i = 0;
  for (; i + 8 <= q.size(); i += 8) {
    std::uint64_t codes = 0;
    std::memcpy(&codes, q.data() + i, 8);
    codes = squeeze<kWidth>(codes);
    std::memcpy(packed.data() + i / 8 * kWidth, &codes, kWidth);
  }
  return i;
}

template <int kWidth>
std::size_t unpack_words(std::span<const std::byte> packed, bool is_signed,
                         std::span<std::byte> q) {
  std::size_t i = 0;
  for (; i + 8 <= q.size(); i += 8) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, packed.data() + i / 8 * kWidth, kWidth);
    bits = spread<kWidth>(bits, is_signed);
    std::memcpy(q.data() + i, &bits, 8);
  }
  return i;
}

}  // namespace

std::size_t packed_size(std::size_t count, Dtype dtype) noexcept {
  if (!is_packed(dtype)) {
    return count * storage_size(dtype);
  }
  const auto width = static_cast<std::size_t>(bits(dtype));
  return count / 8 * width + (count % 8 * width + 7) / 8;
}

void pack(std::span<const std::byte> q, Dtype dtype, std::span<std::byte> packed) {
  check_sizes(q.size(), packed.size(), dtype);
  if (!is_packed(dtype)) {
    std::copy(q.begin(), q.end(), packed.begin());
    return;
  }
  check_codes(q, dtype);
  const int width = bits(dtype);
  const std::uint32_t mask = (1U << width) - 1U;
  const std::size_t done = width == 4   ? pack_words<4>(q, packed)
                           : width == 2 ? pack_words<2>(q, packed)
                                        : 0;
  std::uint32_t pending = 0;
  int filled = 0;
  std::size_t at = done / 8 * static_cast<std::size_t>(width);
  for (const std::byte code : q.subspan(done)) {
    pending |= (static_cast<std::uint32_t>(code) & mask) << filled;
    filled += width;
    if (filled >= 8) {
      packed[at++] = static_cast<std::byte>(pending & 0xffU);
      pending >>= 8;
      filled -= 8;
    }
  }
  if (filled > 0) {
    packed[at] = static_cast<std::byte>(pending & 0xffU);
  }
}

void unpack(std::span<const std::byte> packed, Dtype dtype, std::span<std::byte> q) {
  check_sizes(q.size(), packed.size(), dtype);
  if (!is_packed(dtype)) {
    std::copy(packed.begin(), packed.end(), q.begin());
    return;
  }
  const int width = bits(dtype);
  const std::uint32_t mask = (1U << width) - 1U;
  const bool is_signed = is_signed_integer(dtype);
  const std::size_t done = width == 4   ? unpack_words<4>(packed, is_signed, q)
                           : width == 2 ? unpack_words<2>(packed, is_signed, q)
                                        : 0;
  const std::uint32_t sign = is_signed ? 1U << (width - 1) : 0U;
  std::uint32_t pending = 0;
  int left = 0;
  std::size_t at = done / 8 * static_cast<std::size_t>(width);
  for (std::byte& code : q.subspan(done)) {
    if (left < width) {
      pending |= static_cast<std::uint32_t>(packed[at++]) << left;
      left += 8;
    }
    const std::uint32_t value = pending & mask;
    code = static_cast<std::byte>(((value ^ sign) - sign) & 0xffU);
    pending >>= width;
    left -= width;
  }
}

}  // namespace halfstep
