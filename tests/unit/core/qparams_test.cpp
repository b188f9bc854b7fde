#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"
#include "tests/unit/core/fixtures.h"

namespace halfstep {
namespace {

QParams params(const QuantizationSpec& spec, float min, float max) {
  return choose_qparams({.min = {min}, .max = {max}}, resolve(spec, Role::weight),
                        unit_grid(PerTensor{}, {4}, Role::weight));
}

TEST(QParams, SeedsTables) {
  EXPECT_EQ(params({}, -1, 2).scale[0], 2.0F / 127.5F);
  EXPECT_EQ(params({.qscheme = Scheme::symmetric_with_clipping}, -1, 2).scale[0], 2.0F / 127.0F);
  const QParams affine = params({.dtype = Dtype::uint8, .qscheme = Scheme::asymmetric}, -1, 2);
  EXPECT_EQ(affine.scale[0], 3.0F / 255.0F);
  EXPECT_EQ(affine.zero_point[0], 85);
  EXPECT_EQ(params({.dtype = Dtype::uint4}, -1, 2).zero_point[0], 8);
  const QParams minval = params({.qformulation = Formulation::minval}, -1, 2);
  EXPECT_EQ(minval.minval[0], -2.0F);
  EXPECT_EQ(params({.dtype = Dtype::float8_e4m3fn}, -1, 2).scale[0], 2.0F / 448.0F);
}

TEST(QParams, AimetsSymmetricSchemeFitsBothEnds) {
  QuantizationSpec spec{.dtype = Dtype::int4, .qscheme = Scheme::symmetric_aimet};
  EXPECT_EQ(params(spec, -1, 2).scale[0], 2.0F / 7.0F);
  EXPECT_EQ(params(spec, -3, 2).scale[0], 3.0F / 8.0F);
  EXPECT_EQ(params(spec, -3, 2).zero_point[0], 0);
  EXPECT_EQ(params(spec, 0, 0).scale[0], 0x1p-23F);
  EXPECT_TRUE(std::isnan(params(spec, std::nanf(""), std::nanf("")).scale[0]));
  spec.dtype = Dtype::uint4;
  EXPECT_EQ(params(spec, -3, 2).scale[0], 3.0F / 8.0F);
  EXPECT_EQ(params(spec, -1, 2).scale[0], 2.0F / 7.0F);
  EXPECT_EQ(params(spec, -1, 2).zero_point[0], 8);
}

/// Ranges of many units go through vectors; one unit at a time gives the same.
TEST(QParams, ManyUnitsEqualOneByOne) {
  const float nan = std::nanf("");
  std::vector<float> min = {0, nan, -3e38F, -1e-30F, -5, -0.5F};
  std::vector<float> max = {0, nan, 3e38F, 1e-30F, 0, 1e9F};
  for (const float value : testing_core::noise(59)) {
    min.push_back(std::min(value, 0.0F));
    max.push_back(std::max(value * 0.7F, 0.0F));
  }
  const auto units = static_cast<std::int64_t>(min.size());
  const UnitGrid grid = unit_grid(PerChannel{0}, {units, 2}, Role::weight);
  for (const QuantizationSpec& spec : testing_core::legal_specs(PerChannel{0})) {
    if (spec.dtype == Dtype::uint32) {
      continue;
    }
    const ResolvedSpec resolved = resolve(spec, Role::weight);
    const QParams many = choose_qparams({.min = min, .max = max}, resolved, grid);
    for (std::size_t i = 0; i < min.size(); ++i) {
      const QParams one = choose_qparams({.min = {min[i]}, .max = {max[i]}}, resolved,
                                         unit_grid(PerChannel{0}, {1, 2}, Role::weight));
      const bool same =
          many.scale[i] == one.scale[0] || (std::isnan(many.scale[i]) && std::isnan(one.scale[0]));
      EXPECT_TRUE(same) << testing_core::describe(spec) << " unit " << i;
      EXPECT_EQ(many.zero_point[i], one.zero_point[0]) << testing_core::describe(spec);
    }
  }
}

TEST(QParams, EpsIsTheSmallestScale) {
  EXPECT_EQ(params({}, 0, 0).scale[0], 0x1p-23F);
  EXPECT_EQ(params({.eps = 0}, 0, 1e-10F).scale[0], 1e-10F / 127.5F);
  EXPECT_EQ(params({.eps = 0.5}, 0, 1).scale[0], 0.5F);
}

TEST(QParams, SafeRangesDoNotOverflow) {
  QuantizationSpec spec{.qscheme = Scheme::asymmetric};
  EXPECT_TRUE(std::isinf(params(spec, -3e38F, 3e38F).scale[0]));
  spec.policy = Policy::safe;
  const QParams safe = params(spec, -3e38F, 3e38F);
  EXPECT_FLOAT_EQ(safe.scale[0], 2.3529411e36F);
  EXPECT_EQ(safe.zero_point[0], 0);
}

TEST(QParams, ZeroPointsBeyondInt32AreRefused) {
  EXPECT_THROW((void)params({.dtype = Dtype::uint32}, -1, 1), Error);
  EXPECT_EQ(params({.dtype = Dtype::uint32, .qscheme = Scheme::asymmetric}, 0, 1).zero_point[0], 0);
}

TEST(QParams, CountsMustFit) {
  EXPECT_THROW((void)choose_qparams({.min = {0, 0}, .max = {1, 1}}, resolve({}, Role::weight),
                                    unit_grid(PerTensor{}, {4}, Role::weight)),
               Error);
}

TEST(QParams, FitTakesFixedBounds) {
  const std::vector<float> x = {5, -7};
  const Mapping mapping = fit(TensorView<const float>(x.data(), {2}),
                              resolve({.float_min = -1.0, .float_max = 1.0}, Role::weight));
  EXPECT_EQ(mapping.qparams.scale[0], 1.0F / 127.5F);
}

}  // namespace
}  // namespace halfstep
