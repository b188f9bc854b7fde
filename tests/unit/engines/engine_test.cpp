#include "halfstep/engines/engine.h"

#include <numeric>

#include <gtest/gtest.h>

namespace halfstep {
namespace {

TEST(MakeTensor, OwnsItsBytes) {
  Tensor tensor = make_tensor(Dtype::int16, {2, 2}, std::vector<std::byte>(8, std::byte{1}));
  EXPECT_EQ(tensor.bytes(), 8U);
  EXPECT_EQ(tensor.data[7], std::byte{1});
  const Tensor copy = tensor;
  tensor = {};
  EXPECT_EQ(copy.data[0], std::byte{1});
}

TEST(MakeTensor, RefusesAnotherSize) {
  EXPECT_THROW(static_cast<void>(make_tensor(Dtype::float32, {3}, std::vector<std::byte>(8))),
               Error);
}

TEST(WatchedValue, PlainLayoutIsIndexedDirectly) {
  const std::vector<float> data = {1, 2, 3, 4};
  const WatchedValue value{.data = data.data(), .count = 4, .shape = {2, 2}};
  EXPECT_EQ(value.at(3), 4);
}

/// Fills a blocked tensor so that each logical value holds its row-major index, and padding holds
/// -1.
std::vector<float> blocked(const Shape& shape, std::int64_t block) {
  const std::int64_t inner = shape[2] * shape[3];
  const std::int64_t blocks = (shape[1] + block - 1) / block;
  std::vector<float> data(static_cast<std::size_t>(shape[0] * blocks * inner * block), -1);
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t c = 0; c < shape[1]; ++c) {
      for (std::int64_t p = 0; p < inner; ++p) {
        const std::int64_t place = ((n * blocks + c / block) * inner + p) * block + c % block;
        data[static_cast<std::size_t>(place)] = static_cast<float>((n * shape[1] + c) * inner + p);
      }
    }
  }
  return data;
}

TEST(WatchedValue, BlockedLayoutIsIndexedLogically) {
  for (const std::int64_t channels : {5, 8, 19}) {
    const Shape shape = {2, channels, 3, 2};
    const std::vector<float> data = blocked(shape, 8);
    const WatchedValue value{.data = data.data(),
                             .count = static_cast<std::int64_t>(data.size()),
                             .shape = shape,
                             .channel_block = 8,
                             .padded = channels % 8 != 0};
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      ASSERT_EQ(value.at(i), static_cast<float>(i)) << channels << " channels";
    }
  }
}

}  // namespace
}  // namespace halfstep
