// Tensors that blocks do not divide: refused, left alone, or with shorter last blocks.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/core/fake_quantizer.h"
#include "halfstep/core/padding.h"
#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"
#include "tests/unit/core/fixtures.h"

namespace halfstep {
namespace {

using testing_core::noise;

const Shape kShape{5, 7};

QuantizationSpec spec_of(UnevenBlocks blocks, Policy policy = Policy::reference) {
  return {.granularity = PerBlock{std::nullopt, {2, 3}}, .policy = policy, .uneven_blocks = blocks};
}

std::vector<float> forward(FakeQuantize& quantizer, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  quantizer.forward(TensorView<const float>(x.data(), kShape), TensorView<float>(y.data(), kShape));
  return y;
}

TEST(UnevenBlocks, ByPolicyOrAsAsked) {
  const std::vector<float> x = noise(35);
  for (const Policy policy : {Policy::reference, Policy::safe}) {
    FakeQuantize skipping(spec_of(UnevenBlocks::skip, policy), Role::weight);
    EXPECT_EQ(forward(skipping, x), x);
    EXPECT_TRUE(skipping.disabled());
    FakeQuantize strict(spec_of(UnevenBlocks::error, policy), Role::weight);
    EXPECT_THROW(forward(strict, x), Error);
  }
  EXPECT_EQ(uneven_blocks(spec_of(UnevenBlocks::by_policy)), UnevenBlocks::skip);
  EXPECT_EQ(uneven_blocks(spec_of(UnevenBlocks::by_policy, Policy::safe)), UnevenBlocks::error);
}

TEST(UnevenBlocks, SkippedTensorsHaveNoCodes) {
  const std::vector<float> x = noise(35);
  FakeQuantize quantizer(spec_of(UnevenBlocks::skip), Role::weight);
  std::vector<float> y(35);
  std::vector<std::byte> q(35);
  EXPECT_THROW(quantizer.forward_with_codes(TensorView<const float>(x.data(), kShape), q,
                                            TensorView<float>(y.data(), kShape)),
               Error);
}

/// The last units by themselves must give what they give at the end of the tensor.
TEST(UnevenBlocks, PaddedUnitsAreThoseOfTheirValues) {
  const std::vector<float> x = noise(35);
  for (const Role role : {Role::weight, Role::activation}) {
    FakeQuantize quantizer(spec_of(UnevenBlocks::pad), role);
    const std::vector<float> y = forward(quantizer, x);
    ASSERT_EQ(quantizer.calculate_qparams().shape, (Shape{3, 3}));
    FakeQuantize alone({}, Role::weight);
    const float corner = x.back();  // row 4, column 6: a unit of one value
    float expected = 0;
    alone.forward(TensorView<const float>(&corner, {1}), TensorView<float>(&expected, {1}));
    EXPECT_EQ(y.back(), expected);
    std::vector<float> row(x.begin() + 28, x.begin() + 31);  // row 4, columns 0 to 2: a unit
    FakeQuantize edge({}, Role::weight);
    edge.forward(TensorView<const float>(row.data(), {3}), TensorView<float>(row.data(), {3}));
    EXPECT_TRUE(std::equal(row.begin(), row.end(), y.begin() + 28));
  }
}

TEST(UnevenBlocks, CodesValuesAndMaskAgree) {
  const std::vector<float> x = noise(35);
  for (const QuantizationSpec& legal : testing_core::legal_specs(PerBlock{1, {3}})) {
    QuantizationSpec spec = legal;
    spec.uneven_blocks = UnevenBlocks::pad;
    if (spec.dtype == Dtype::uint32 && spec.qscheme != Scheme::asymmetric) {
      continue;  // its zero point does not fit
    }
    const TensorView<const float> view(x.data(), kShape);
    const Mapping mapping = fit(view, resolve(spec, Role::weight));
    std::vector<std::byte> q(x.size() * storage_size(spec.dtype)), same(q.size());
    std::vector<std::byte> mask(x.size(), std::byte{7});
    std::vector<float> y(x.size()), decoded(x.size()), both(x.size());
    quantize(view, mapping, q);
    fake_quantize(view, mapping, TensorView<float>(y.data(), kShape));
    dequantize(q, mapping, TensorView<float>(decoded.data(), kShape));
    quantize_and_fake_quantize(FloatView(view), mapping, same,
                               FloatSpan(TensorView<float>(both.data(), kShape)));
    gradient_mask(FloatView(view), mapping, mask);
    EXPECT_EQ(y, decoded) << testing_core::describe(spec);
    EXPECT_EQ(y, both) << testing_core::describe(spec);
    EXPECT_EQ(q, same) << testing_core::describe(spec);
    EXPECT_EQ(std::count(mask.begin(), mask.end(), std::byte{7}), 0);
  }
}

TEST(UnevenBlocks, RepeatedValuesAreNotCounted) {
  std::vector<float> x = noise(35);
  x.back() = std::numeric_limits<float>::quiet_NaN();
  const UnitGrid grid = unit_grid(PerBlock{std::nullopt, {2, 3}}, kShape, Role::weight, true);
  const TensorView<const float> view(x.data(), kShape);
  EXPECT_EQ(measure_range(view, grid, Policy::safe).nan_count, 1);
}

TEST(UnevenBlocks, SizesChangeBothWays) {
  const std::vector<int> x = {1, 2, 3, 4, 5, 6};
  const std::vector<int> larger = internal::resized(x, {2, 3}, {3, 4});
  EXPECT_EQ(larger, (std::vector<int>{1, 2, 3, 3, 4, 5, 6, 6, 4, 5, 6, 6}));
  EXPECT_EQ(internal::resized(larger, {3, 4}, {2, 3}), x);
}

}  // namespace
}  // namespace halfstep
