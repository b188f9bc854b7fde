#include <algorithm>
#include <cstdint>
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
    throw Error(ErrorKind::invalid_argument,
                std::to_string(unpacked) + " bytes of " + std::string(name(dtype)) +
                    " codes pack to " + std::to_string(packed_size(count, dtype)) +
                    " bytes; found " + std::to_string(packed));
  }
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
  const int width = bits(dtype);
  const std::uint32_t mask = (1U << width) - 1U;
  std::uint32_t pending = 0;
  int filled = 0;
  std::size_t at = 0;
  for (const std::byte code : q) {
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
  const std::uint32_t sign = is_signed_integer(dtype) ? 1U << (width - 1) : 0U;
  std::uint32_t pending = 0;
  int left = 0;
  std::size_t at = 0;
  for (std::byte& code : q) {
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
