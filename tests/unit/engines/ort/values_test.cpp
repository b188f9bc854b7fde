#include "halfstep/engines/ort/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/engines/ort/library.h"

namespace halfstep::ort {
namespace {

using testing::ElementsAre;

class Values : public testing::Test {
 protected:
  std::shared_ptr<Runtime> runtime_ = runtime("");
};

template <typename T>
Tensor tensor_of(Dtype dtype, const std::vector<T>& values) {
  return {.dtype = dtype,
          .shape = {static_cast<std::int64_t>(values.size())},
          .data = reinterpret_cast<const std::byte*>(values.data())};
}

TEST_F(Values, BorrowAndTakeKeepTypeShapeAndMemory) {
  const std::vector<std::int16_t> data = {1, -2, 3};
  const Tensor tensor = take(borrow(tensor_of(Dtype::int16, data)));
  EXPECT_EQ(tensor.dtype, Dtype::int16);
  EXPECT_EQ(tensor.shape, Shape{3});
  EXPECT_EQ(tensor.data, reinterpret_cast<const std::byte*>(data.data()));
}

TEST_F(Values, ToFloatsConvertsNumbers) {
  const std::vector<double> doubles = {0.5, -3};
  EXPECT_THAT(to_floats(borrow(tensor_of(Dtype::float64, doubles))), ElementsAre(0.5F, -3.0F));
  const std::vector<std::uint16_t> halves = {0x3C00, 0xC000};
  EXPECT_THAT(to_floats(borrow(tensor_of(Dtype::float16, halves))), ElementsAre(1.0F, -2.0F));
  const std::vector<std::uint16_t> brains = {0x3F80, 0xC000};
  EXPECT_THAT(to_floats(borrow(tensor_of(Dtype::bfloat16, brains))), ElementsAre(1.0F, -2.0F));
  const std::vector<std::uint8_t> bytes = {0, 255};
  EXPECT_THAT(to_floats(borrow(tensor_of(Dtype::uint8, bytes))), ElementsAre(0.0F, 255.0F));
}

}  // namespace
}  // namespace halfstep::ort
