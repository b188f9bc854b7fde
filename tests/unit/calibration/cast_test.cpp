#include "halfstep/calibration/cast.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
Tensor tensor_of(Dtype dtype, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return make_tensor(dtype, {static_cast<std::int64_t>(values.size())}, std::move(bytes));
}

template <typename T>
std::vector<T> cast_values(const Tensor& tensor, Dtype to) {
  const Tensor result = cast_tensor(tensor, to);
  EXPECT_EQ(result.dtype, to);
  std::vector<T> values(static_cast<std::size_t>(element_count(result.shape)));
  std::memcpy(values.data(), result.data, result.bytes());
  return values;
}

std::string problem_of(const Tensor& tensor, Dtype to) {
  try {
    static_cast<void>(cast_tensor(tensor, to));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CastTensor, RoundsToFloatTypes) {
  const Tensor doubles = tensor_of<double>(Dtype::float64, {0.1, -2, 1e300});
  const auto floats = cast_values<float>(doubles, Dtype::float32);
  EXPECT_EQ(floats[0], 0.1F);
  EXPECT_TRUE(std::isinf(floats[2]));
  const Tensor pixels = tensor_of<std::uint8_t>(Dtype::uint8, {0, 128, 255});
  EXPECT_THAT(cast_values<float>(pixels, Dtype::float32), ElementsAre(0, 128, 255));
  EXPECT_THAT(cast_values<std::uint16_t>(pixels, Dtype::float16),
              ElementsAre(0x0000, 0x5800, 0x5BF8));
  EXPECT_THAT(cast_values<std::uint16_t>(pixels, Dtype::bfloat16),
              ElementsAre(0x0000, 0x4300, 0x437F));
}

TEST(CastTensor, ReadsHalfTypes) {
  const Tensor halves = tensor_of<std::uint16_t>(Dtype::float16, {0x3C00, 0xC000});
  EXPECT_THAT(cast_values<float>(halves, Dtype::float32), ElementsAre(1, -2));
}

TEST(CastTensor, KeepsWholeNumbers) {
  const Tensor longs = tensor_of<std::int64_t>(Dtype::int64, {-5, 2000000000});
  EXPECT_THAT(cast_values<std::int32_t>(longs, Dtype::int32), ElementsAre(-5, 2000000000));
  const Tensor floats = tensor_of<float>(Dtype::float32, {3, -1});
  EXPECT_THAT(cast_values<std::int64_t>(floats, Dtype::int64), ElementsAre(3, -1));
}

TEST(CastTensor, RefusesValuesThatDoNotFit) {
  EXPECT_THAT(problem_of(tensor_of<float>(Dtype::float32, {1, 0.5F}), Dtype::int32),
              HasSubstr("0.5"));
  EXPECT_THAT(problem_of(tensor_of<std::int64_t>(Dtype::int64, {300}), Dtype::uint8),
              HasSubstr("300"));
  EXPECT_THAT(problem_of(tensor_of<std::int64_t>(Dtype::int64, {2}), Dtype::boolean),
              HasSubstr("bool"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(problem_of(tensor_of<float>(Dtype::float32, {nan}), Dtype::int64), "");
  EXPECT_NE(problem_of(tensor_of<double>(Dtype::float64, {0x1p63}), Dtype::int64), "");
  EXPECT_THAT(problem_of(tensor_of<std::uint8_t>(Dtype::float8_e5m2, {0}), Dtype::float32),
              HasSubstr("float8_e5m2"));
}

TEST(FindNan, FindsTheFirst) {
  std::vector<float> values(10000, 1);
  EXPECT_EQ(find_nan(tensor_of(Dtype::float32, values)), -1);
  values[5001] = std::numeric_limits<float>::quiet_NaN();
  values[9000] = values[5001];
  values[3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(find_nan(tensor_of(Dtype::float32, values)), 5001);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(find_nan(tensor_of<double>(Dtype::float64, {0, nan})), 1);
  EXPECT_EQ(find_nan(tensor_of<std::uint16_t>(Dtype::float16, {0x7C00, 0xFE00})), 1);
  EXPECT_EQ(find_nan(tensor_of<std::uint16_t>(Dtype::bfloat16, {0x7F80, 0x7FC0})), 1);
  EXPECT_EQ(find_nan(tensor_of<std::int64_t>(Dtype::int64, {-1})), -1);
}

}  // namespace
}  // namespace halfstep
