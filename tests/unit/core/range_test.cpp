#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"
#include "tests/unit/core/fixtures.h"

namespace halfstep {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The definition, one value at a time.
Ranges slow_ranges(const std::vector<float>& x, const UnitGrid& grid) {
  const auto units = static_cast<std::size_t>(grid.units());
  Ranges ranges{.min = std::vector<float>(units, kInfinity),
                .max = std::vector<float>(units, -kInfinity)};
  const Shape strides = row_major_strides(grid.shape);
  const Shape unit_strides = row_major_strides(grid.counts);
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::int64_t unit = 0;
    for (std::size_t axis = 0; axis < grid.shape.size(); ++axis) {
      const std::int64_t index = static_cast<std::int64_t>(i) / strides[axis] % grid.shape[axis];
      unit += index / grid.sizes[axis] * unit_strides[axis];
    }
    const auto at = static_cast<std::size_t>(unit);
    ranges.min[at] = std::min(ranges.min[at], x[i]);
    ranges.max[at] = std::max(ranges.max[at], x[i]);
  }
  return ranges;
}

TEST(Range, EveryGranularityInstructionSetAndThreadCount) {
  const std::vector<Shape> shapes = {{6, 8, 4}, {12, 400, 8}, {600, 128, 4}};
  for (const Shape& shape : shapes) {
    const std::vector<float> x =
        testing_core::noise(static_cast<std::size_t>(element_count(shape)));
    const TensorView<const float> view(x.data(), shape);
    for (const Granularity& granularity : testing_core::granularities()) {
      for (const Role role : {Role::weight, Role::activation}) {
        const UnitGrid grid = unit_grid(granularity, shape, role);
        const Ranges expected = slow_ranges(x, grid);
        for (const kernels::Isa isa : testing_core::isas()) {
          const kernels::ForcedIsa forced(isa);
          for (const int threads : {1, 2, 5}) {
            const Ranges found = measure_range(view, grid, Policy::safe, threads);
            EXPECT_EQ(found.min, expected.min) << kernels::name(isa) << threads;
            EXPECT_EQ(found.max, expected.max) << kernels::name(isa) << threads;
          }
        }
      }
    }
  }
}

TEST(Range, NanAndInfinityByPolicy) {
  std::vector<float> x = testing_core::noise(64);
  x[3] = kNan;
  x[40] = -kInfinity;
  x[41] = kNan;
  const TensorView<const float> view(x.data(), {4, 16});
  const UnitGrid grid = unit_grid(PerChannel{0}, {4, 16}, Role::weight);
  const Ranges safe = measure_range(view, grid, Policy::safe);
  EXPECT_EQ(safe.nan_count, 2);
  EXPECT_EQ(safe.infinity_count, 1);
  for (std::size_t unit = 0; unit < 4; ++unit) {
    EXPECT_TRUE(std::isfinite(safe.min[unit]) && std::isfinite(safe.max[unit]));
  }
  const Ranges reference = measure_range(view, grid, Policy::reference);
  EXPECT_TRUE(std::isnan(reference.min[0]) && std::isnan(reference.max[0]));
  EXPECT_TRUE(std::isnan(reference.min[2]));
  EXPECT_EQ(reference.min[1], safe.min[1]);
  x[41] = 0;
  EXPECT_EQ(measure_range(view, grid, Policy::reference).min[2], -kInfinity);
}

TEST(Range, UnitsWithoutValues) {
  const std::vector<float> nothing(2, kNan);
  const Ranges only_nan = measure_range(TensorView<const float>(nothing.data(), {2}),
                                        unit_grid(PerTensor{}, {2}, Role::weight));
  EXPECT_EQ(only_nan.min[0], 0);
  EXPECT_EQ(only_nan.max[0], 0);
  const Ranges empty = measure_range(TensorView<const float>(nothing.data(), {0, 3}),
                                     unit_grid(PerTensor{}, {0, 3}, Role::weight));
  EXPECT_EQ(empty.min, std::vector<float>{0});
}

TEST(Range, StridesAndTypes) {
  const std::vector<float> x = testing_core::noise(24);
  const TensorView<const float> transposed(x.data(), {6, 4}, {1, 6});
  const UnitGrid by_row = unit_grid(PerChannel{0}, {6, 4}, Role::weight);
  const UnitGrid by_column = unit_grid(PerChannel{1}, {4, 6}, Role::weight);
  EXPECT_EQ(measure_range(transposed, by_row).min,
            measure_range(TensorView<const float>(x.data(), {4, 6}), by_column).min);
  std::vector<Float16> half;
  for (const float value : x) {
    half.push_back(to_float16(value));
  }
  const FloatView view = TensorView<const Float16>(half.data(), {4, 6});
  EXPECT_EQ(measure_range(view, by_column, Policy::reference).dtype, Dtype::float16);
  EXPECT_EQ(measure_range(view, by_column, Policy::safe).dtype, Dtype::float32);
}

TEST(Range, ZeroHasNoSign) {
  const std::vector<float> x = {-0.0F, -0.0F, -0.0F};
  const Ranges ranges = measure_range(TensorView<const float>(x.data(), {3}),
                                      unit_grid(PerTensor{}, {3}, Role::weight));
  EXPECT_FALSE(std::signbit(ranges.min[0]));
  EXPECT_FALSE(std::signbit(ranges.max[0]));
}

TEST(Range, ShapeMustBeThatOfTheGrid) {
  const std::vector<float> x(6);
  EXPECT_THROW((void)measure_range(TensorView<const float>(x.data(), {6}),
                                   unit_grid(PerTensor{}, {2, 3}, Role::weight)),
               Error);
}

TEST(Range, ZeroAndBoundsJoin) {
  const Ranges measured{.min = {1, -3}, .max = {2, -1}};
  const Ranges joined = with_zero_and_bounds(measured, {});
  EXPECT_EQ(joined.min, (std::vector<float>{0, -3}));
  EXPECT_EQ(joined.max, (std::vector<float>{2, 0}));
  const Ranges bounded = with_zero_and_bounds(measured, {.float_max = 0.7});
  EXPECT_EQ(bounded.max, (std::vector<float>{0.7F, 0.7F}));
  EXPECT_EQ(bounded.min, (std::vector<float>{0, -3}));
}

}  // namespace
}  // namespace halfstep
