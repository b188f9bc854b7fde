#include <vector>

#include <gtest/gtest.h>

#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> result;
  for (const int value : values) {
    result.push_back(static_cast<std::byte>(value & 0xff));
  }
  return result;
}

std::vector<std::byte> packed(const std::vector<std::byte>& q, Dtype dtype) {
  std::vector<std::byte> result(packed_size(q.size() / storage_size(dtype), dtype));
  pack(q, dtype, result);
  return result;
}

TEST(Pack, FirstValueInTheLowBits) {
  EXPECT_EQ(packed(bytes({1, -1, -8}), Dtype::int4), bytes({0xf1, 0x08}));
  EXPECT_EQ(packed(bytes({1, 2, 3, 0, 2}), Dtype::uint2), bytes({0x39, 0x02}));
  EXPECT_EQ(packed(bytes({5, 6, 7}), Dtype::uint3), bytes({0xf5, 0x01}));
  EXPECT_EQ(packed(bytes({200, 3}), Dtype::uint8), bytes({200, 3}));
}

TEST(Pack, EveryCodeOfEveryWidthComesBackAtEveryLength) {
  for (const DtypeInfo& row : dtypes()) {
    if (row.bits >= 8) {
      continue;
    }
    const int count = 1 << row.bits;
    const int lowest = is_signed_integer(row.dtype) ? -count / 2 : 0;
    for (int length = 0; length < 37; ++length) {
      std::vector<std::byte> q;
      for (int i = 0; i < length; ++i) {
        q.push_back(static_cast<std::byte>((lowest + (i * 7 + length) % count) & 0xff));
      }
      const std::vector<std::byte> small = packed(q, row.dtype);
      EXPECT_EQ(small.size(), static_cast<std::size_t>((length * row.bits + 7) / 8));
      std::vector<std::byte> back(q.size());
      unpack(small, row.dtype, back);
      EXPECT_EQ(back, q) << row.name << " " << length;
    }
  }
}

TEST(Pack, SizesMustFit) {
  const std::vector<std::byte> q(3);
  std::vector<std::byte> small(1);
  EXPECT_THROW(pack(q, Dtype::int4, small), Error);
  std::vector<std::byte> back(3);
  EXPECT_THROW(unpack(small, Dtype::int4, back), Error);
}

}  // namespace
}  // namespace halfstep
