#include "halfstep/core/dtype.h"

#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

TEST(Dtype, EveryRowIsFoundByItsNames) {
  std::set<int> onnx;
  for (const DtypeInfo& row : dtypes()) {
    EXPECT_EQ(find_dtype(row.name), row.dtype);
    EXPECT_EQ(parse_dtype(row.name), row.dtype);
    EXPECT_LT(row.lowest, row.highest);
    if (row.onnx != 0) {
      EXPECT_TRUE(onnx.insert(row.onnx).second) << row.name;
      EXPECT_EQ(dtype_from_onnx(row.onnx), row.dtype);
    }
  }
  EXPECT_EQ(dtype_from_onnx(0), std::nullopt);
  EXPECT_EQ(dtype_from_onnx(8), std::nullopt);  // string
}

TEST(Dtype, IntegerRangesFollowFromTheBits) {
  for (const DtypeInfo& row : dtypes()) {
    if (is_signed_integer(row.dtype) && row.bits < 64) {
      EXPECT_EQ(row.lowest, -std::ldexp(1.0, row.bits - 1)) << row.name;
      EXPECT_EQ(row.highest, std::ldexp(1.0, row.bits - 1) - 1) << row.name;
    }
    if (is_unsigned_integer(row.dtype) && row.bits < 64) {
      EXPECT_EQ(row.lowest, 0) << row.name;
      EXPECT_EQ(row.highest, std::ldexp(1.0, row.bits) - 1) << row.name;
    }
  }
}

TEST(Dtype, AliasesAndStorage) {
  EXPECT_EQ(parse_dtype("float4_e2m1fn"), Dtype::float4_e2m1fn_x2);
  EXPECT_EQ(parse_dtype("float8_e4m3"), Dtype::float8_e4m3fn);
  EXPECT_EQ(parse_dtype("float8_e8m0"), Dtype::float8_e8m0fnu);
  EXPECT_EQ(storage_size(Dtype::int4), 1U);
  EXPECT_EQ(storage_size(Dtype::float4_e2m1fn_x2), 1U);
  EXPECT_EQ(storage_size(Dtype::int16), 2U);
  EXPECT_EQ(storage_size(Dtype::float64), 8U);
}

TEST(Dtype, UnknownNamesAreErrorsWithTheClosestName) {
  EXPECT_EQ(find_dtype("INT8"), std::nullopt);
  try {
    (void)parse_dtype("uint8_");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("uint8"), std::string::npos) << error.what();
  }
}

TEST(Dtype, BoolHasNoBits) {
  EXPECT_THROW((void)get_n_bits_from_dtype(Dtype::boolean), Error);
  EXPECT_THROW((void)get_target_dtype(Dtype::boolean), Error);
  EXPECT_EQ(get_target_dtype(Dtype::uint5), Dtype::uint8);
  EXPECT_EQ(get_target_dtype(Dtype::int16), Dtype::int16);
}

}  // namespace
}  // namespace halfstep
