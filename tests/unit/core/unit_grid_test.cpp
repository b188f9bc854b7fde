#include <string>

#include <gtest/gtest.h>

#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

UnitGrid grid(const Granularity& granularity, const Shape& shape, Role role = Role::weight) {
  return unit_grid(granularity, shape, role);
}

TEST(UnitGrid, WeightBlocksKeepAKernelTogether) {
  const Shape conv{16, 8, 3, 3};
  EXPECT_EQ(grid(PerBlock{1, {4}}, conv).counts, (Shape{16, 2, 1, 1}));
  EXPECT_EQ(grid(PerBlock{1, {4}}, conv, Role::activation).counts, (Shape{16, 2, 3, 3}));
  EXPECT_EQ(grid(Lpbq{.axis = 1, .block_size = 4}, conv).counts, (Shape{16, 2, 1, 1}));
  EXPECT_EQ(grid(PerBlock{2, {3}}, conv).sizes, (Shape{1, 1, 3, 3}));
}

TEST(UnitGrid, ScalarsAndEmptyTensors) {
  EXPECT_EQ(grid(PerTensor{}, {}).units(), 1);
  EXPECT_EQ(grid(PerTensor{}, {0, 4}).counts, (Shape{1, 1}));
  EXPECT_EQ(grid(PerChannel{0}, {0, 4}).units(), 0);
}

TEST(UnitGrid, ErrorsNameAxisExtentAndBlock) {
  try {
    (void)grid(PerBlock{1, {32}}, {8, 100});
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const char* part : {"32", "axis 1", "100"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
  EXPECT_TRUE(has_uneven_blocks(PerBlock{1, {32}}, {8, 100}));
  EXPECT_FALSE(has_uneven_blocks(PerBlock{5, {32}}, {8, 100}));
  EXPECT_FALSE(has_uneven_blocks(PerChannel{0}, {8, 100}));
  for (const Granularity& wrong :
       {Granularity(PerChannel{2}), Granularity(PerChannel{-3}), Granularity(PerChannel{}),
        Granularity(PerBlock{0, {3, 5}}), Granularity(PerBlock{std::nullopt, {1, 2, 3}}),
        Granularity(PerBlock{std::nullopt, {4}})}) {
    EXPECT_THROW((void)grid(wrong, {8, 100}), Error);
  }
}

}  // namespace
}  // namespace halfstep
