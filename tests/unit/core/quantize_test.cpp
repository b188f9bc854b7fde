#include "halfstep/core/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "tests/unit/core/fixtures.h"

namespace halfstep {
namespace {

const Shape kShape{6, 8, 4};

TensorView<const float> view_of(const std::vector<float>& x, const Shape& shape = kShape) {
  return {x.data(), shape};
}

std::vector<float> fake_quantized(const std::vector<float>& x, const Mapping& mapping,
                                  int threads = 1) {
  std::vector<float> y(x.size());
  fake_quantize(view_of(x, mapping.grid.shape), mapping,
                TensorView<float>(y.data(), mapping.grid.shape), threads);
  return y;
}

std::vector<std::byte> codes_of(const std::vector<float>& x, const Mapping& mapping,
                                int threads = 1) {
  std::vector<std::byte> q(x.size() * storage_size(mapping.spec->dtype));
  quantize(view_of(x, mapping.grid.shape), mapping, q, threads);
  return q;
}

QParams one_unit(float scale, std::int32_t zero_point) {
  QParams qparams;
  qparams.scale = {scale};
  qparams.zero_point = {zero_point};
  return qparams;
}

/// The unit of each value.
std::vector<std::size_t> units_of(const UnitGrid& grid) {
  const Shape strides = row_major_strides(grid.shape);
  const Shape unit_strides = row_major_strides(grid.counts);
  std::vector<std::size_t> units;
  for (std::int64_t i = 0; i < element_count(grid.shape); ++i) {
    std::int64_t unit = 0;
    for (std::size_t axis = 0; axis < grid.shape.size(); ++axis) {
      unit += i / strides[axis] % grid.shape[axis] / grid.sizes[axis] * unit_strides[axis];
    }
    units.push_back(static_cast<std::size_t>(unit));
  }
  return units;
}

/// Every dtype x scheme x formulation x scale type x granularity whose parameters fit int32.
template <typename Visit>
void for_each_mapping(Visit visit) {
  const std::vector<float> x = testing_core::noise(192, 7);
  for (const Granularity& granularity : testing_core::granularities()) {
    for (const QuantizationSpec& spec : testing_core::legal_specs(granularity)) {
      if (spec.dtype == Dtype::uint32) {
        continue;  // its zero points exceed int32: see QParams
      }
      SCOPED_TRACE(testing_core::describe(spec));
      visit(x, fit(view_of(x), resolve(spec, Role::weight)));
    }
  }
}

TEST(Quantize, RoundTripIsWithinHalfAStep) {
  for_each_mapping([](const std::vector<float>& x, const Mapping& mapping) {
    const ResolvedSpec& spec = mapping.spec;
    if (is_floating(spec->dtype)) {
      return;
    }
    const std::vector<float> y = fake_quantized(x, mapping);
    const std::vector<std::size_t> units = units_of(mapping.grid);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const QParams& p = mapping.qparams;
      const double scale = p.scale[units[i]];
      const bool minval = spec->qformulation == Formulation::minval;
      const double zero = minval ? spec.quant_min() : p.zero_point[units[i]];
      const double offset = minval ? p.minval[units[i]] : 0.0;
      const double low = (spec.quant_min() - zero) * scale + offset;
      const double high = (spec.quant_max() - zero) * scale + offset;
      const double nearest = std::clamp(static_cast<double>(x[i]), low, high);
      EXPECT_LE(std::abs(y[i] - nearest), 0.5001 * scale + 1e-6) << i;
    }
  });
}

TEST(Quantize, ZeroIsExactAndResultsAreIdempotentAndMonotone) {
  for_each_mapping([](const std::vector<float>& x, const Mapping& mapping) {
    const std::vector<float> zeros(x.size(), 0.0F);
    if (mapping.spec->qformulation == Formulation::zp) {
      EXPECT_EQ(fake_quantized(zeros, mapping), zeros);
    }
    const std::vector<float> y = fake_quantized(x, mapping);
    if (mapping.spec->qformulation == Formulation::zp && bits(mapping.spec->dtype) <= 16) {
      EXPECT_EQ(fake_quantized(y, mapping), y);
    }
    const std::vector<std::size_t> units = units_of(mapping.grid);
    for (std::size_t i = 1; i < x.size(); ++i) {
      if (units[i] == units[i - 1] && x[i - 1] <= x[i]) {
        EXPECT_LE(y[i - 1], y[i]);
      }
    }
  });
}

TEST(Quantize, DequantizedCodesAreTheFakeQuantizedValues) {
  for_each_mapping([](const std::vector<float>& x, const Mapping& mapping) {
    const std::vector<float> y = fake_quantized(x, mapping);
    std::vector<std::byte> q = codes_of(x, mapping);
    std::vector<float> z(x.size());
    dequantize(q, mapping, TensorView<float>(z.data(), kShape));
    EXPECT_EQ(z, y);
    std::vector<float> both(x.size());
    std::vector<std::byte> q2(q.size());
    quantize_and_fake_quantize(FloatView(view_of(x)), mapping, q2,
                               FloatSpan(TensorView<float>(both.data(), kShape)));
    EXPECT_EQ(both, y);
    EXPECT_EQ(q2, q);
    if (bits(mapping.spec->dtype) < 8) {
      std::vector<std::byte> packed(packed_size(q.size(), mapping.spec->dtype));
      pack(q, mapping.spec->dtype, packed);
      unpack(packed, mapping.spec->dtype, q2);
      EXPECT_EQ(q2, q);
    }
  });
}

/// Every path must give the bits of the reference on one thread.
void expect_same_bits(const std::vector<float>& x, const Mapping& mapping, int threads) {
  const kernels::ForcedIsa reference(kernels::Isa::reference);
  const std::vector<std::byte> q = codes_of(x, mapping);
  const std::vector<float> y = fake_quantized(x, mapping);
  EXPECT_TRUE(std::isnan(y[5]));
  for (const kernels::Isa isa : testing_core::isas()) {
    const kernels::ForcedIsa forced(isa);
    EXPECT_EQ(codes_of(x, mapping, threads), q) << kernels::name(isa);
    const std::vector<float> other = fake_quantized(x, mapping, threads);
    EXPECT_EQ(std::memcmp(other.data() + 6, y.data() + 6, (y.size() - 6) * sizeof(float)), 0)
        << kernels::name(isa);
  }
}

std::vector<float> noise_with_odd_values(const Shape& shape) {
  std::vector<float> x = testing_core::noise(static_cast<std::size_t>(element_count(shape)), 3);
  x[5] = std::numeric_limits<float>::quiet_NaN();
  x[77] = std::numeric_limits<float>::infinity();
  x[78] = -0.0F;
  return x;
}

TEST(Quantize, InstructionSetsGiveTheSameBits) {
  const Shape shape{12, 8, 20};
  const std::vector<float> x = noise_with_odd_values(shape);
  for (const Granularity& granularity : testing_core::granularities()) {
    for (QuantizationSpec spec : testing_core::legal_specs(granularity)) {
      if (bits(spec.dtype) <= 16) {
        SCOPED_TRACE(testing_core::describe(spec));
        spec.policy = Policy::safe;
        expect_same_bits(x, fit(view_of(x, shape), resolve(spec, Role::weight)), 1);
      }
    }
  }
}

TEST(Quantize, ThreadsGiveTheSameBits) {
  const Shape shape{300, 64, 28};
  const std::vector<float> x = noise_with_odd_values(shape);
  for (const Granularity& granularity : testing_core::granularities()) {
    for (const Dtype dtype : {Dtype::int8, Dtype::float8_e4m3fn}) {
      const QuantizationSpec spec{
          .dtype = dtype, .granularity = granularity, .policy = Policy::safe};
      SCOPED_TRACE(testing_core::describe(spec));
      expect_same_bits(x, fit(view_of(x, shape), resolve(spec, Role::weight)), 3);
    }
  }
}

TEST(Quantize, StridesInPlaceAndOtherTypes) {
  std::vector<float> x = testing_core::noise(24);
  const ResolvedSpec spec = resolve({.granularity = PerChannel{0}}, Role::weight);
  const TensorView<const float> transposed(x.data(), {6, 4}, {1, 6});
  const Mapping mapping = fit(transposed, spec);
  std::vector<float> row_major(24);
  fake_quantize(transposed, mapping, TensorView<float>(row_major.data(), {6, 4}));
  const std::vector<std::byte> q = [&] {
    std::vector<std::byte> codes(24);
    quantize(transposed, mapping, codes);
    return codes;
  }();
  std::vector<float> again(24);
  dequantize(q, mapping, TensorView<float>(again.data(), {6, 4}));
  EXPECT_EQ(again, row_major);
  std::vector<double> wide(24);
  const std::vector<double> doubles(x.begin(), x.end());
  fake_quantize(FloatView(TensorView<const double>(doubles.data(), {6, 4}, {1, 6})), mapping,
                FloatSpan(TensorView<double>(wide.data(), {6, 4})));
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_NEAR(wide[i], row_major[i], 0.04);  // a step: near a tie the rounding may differ
  }
  fake_quantize(transposed, mapping, TensorView<float>(x.data(), {6, 4}, {1, 6}));
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(x[i % 4 * 6 + i / 4], row_major[i]);
  }
}

/// Strided data is worked on piece by piece: the same as on a copy, for every kind of unit.
TEST(Quantize, StridesAcrossManyPieces) {
  const Shape shape{90, 70, 3};
  const Shape strides{1, -270, 90};
  const std::vector<float> x = testing_core::noise(90 * 70 * 3);
  const TensorView<const float> view(x.data() + 69 * 270, shape, strides);
  const std::vector<float> copy = contiguous_copy(view);
  for (const Granularity& granularity :
       {Granularity(PerTensor{}), Granularity(PerChannel{0}), Granularity(PerChannel{2}),
        Granularity(PerBlock{std::nullopt, {9, 10, 1}})}) {
    const ResolvedSpec spec = resolve({.granularity = granularity}, Role::weight);
    const Mapping expected = fit(TensorView<const float>(copy.data(), shape), spec);
    const Mapping mapping = fit(view, spec, 2);
    EXPECT_EQ(mapping.qparams.scale, expected.qparams.scale);
    std::vector<float> y(x.size()), strided(x.size());
    fake_quantize(TensorView<const float>(copy.data(), shape), expected,
                  TensorView<float>(y.data(), shape));
    const TensorView<float> target(strided.data() + 69 * 270, shape, strides);
    fake_quantize(view, mapping, target, 2);
    EXPECT_EQ(contiguous_copy(target), y);
  }
}

/// The result lies where other values of x are still to be read.
TEST(Quantize, ResultMayBeATransposedInput) {
  std::vector<float> x = testing_core::noise(100 * 100);
  const TensorView<const float> view(x.data(), {100, 100});
  const Mapping mapping = fit(view, resolve({.granularity = PerChannel{0}}, Role::weight));
  const std::vector<float> expected = fake_quantized(x, mapping);
  const TensorView<float> target(x.data(), {100, 100}, {1, 100});
  fake_quantize(view, mapping, target);
  EXPECT_EQ(contiguous_copy(target), expected);
}

TEST(Quantize, GradientMaskIsOneInsideTheRange) {
  const Mapping mapping{.spec = resolve({}, Role::weight),
                        .grid = unit_grid(PerTensor{}, {5}, Role::weight),
                        .qparams = one_unit(1.0F, 0)};
  const std::vector<float> x = {127.4F, 127.6F, -128.4F, -129.0F,
                                std::numeric_limits<float>::quiet_NaN()};
  std::vector<std::byte> mask(5);
  gradient_mask(FloatView(view_of(x, {5})), mapping, mask);
  EXPECT_EQ(mask, (std::vector<std::byte>{std::byte{1}, std::byte{0}, std::byte{1}, std::byte{0},
                                          std::byte{0}}));
}

TEST(Quantize, NanGetsTheCodeOfZero) {
  const Mapping mapping{.spec = resolve({.dtype = Dtype::uint8}, Role::weight),
                        .grid = unit_grid(PerTensor{}, {1}, Role::weight),
                        .qparams = one_unit(0.5F, 128)};
  EXPECT_EQ(codes_of({std::numeric_limits<float>::quiet_NaN()}, mapping)[0], std::byte{128});
}

TEST(Quantize, BadInputIsRefused) {
  const std::vector<float> x(8, 1.0F);
  Mapping mapping = fit(view_of(x, {2, 4}), resolve({}, Role::weight));
  std::vector<std::byte> q(8);
  std::vector<std::byte> few(7);
  EXPECT_THROW(quantize(view_of(x, {8}), mapping, q), Error);
  EXPECT_THROW(quantize(view_of(x, {2, 4}), mapping, few), Error);
  std::vector<double> y(8);
  EXPECT_THROW(fake_quantize(FloatView(view_of(x, {2, 4})), mapping,
                             FloatSpan(TensorView<double>(y.data(), {2, 4}))),
               Error);
  mapping.qparams.scale.clear();
  EXPECT_THROW(quantize(view_of(x, {2, 4}), mapping, q), Error);
}

TEST(Quantize, EmptyTensorsPass) {
  const std::vector<float> nothing;
  const Mapping mapping =
      fit(view_of(nothing, {0, 4}), resolve({.granularity = PerChannel{0}}, Role::weight));
  EXPECT_TRUE(codes_of(nothing, mapping).empty());
}

TEST(Quantize, ThirtyTwoBitCodesAreExact) {
  const Mapping mapping{.spec = resolve({.dtype = Dtype::int32}, Role::weight),
                        .grid = unit_grid(PerTensor{}, {3}, Role::weight),
                        .qparams = one_unit(0x1p-20F, 0)};
  const std::vector<float> x = {1.0F, -3000.0F, 1000.25F};
  const std::vector<std::byte> q = codes_of(x, mapping);
  std::int32_t codes[3];
  std::memcpy(codes, q.data(), sizeof codes);
  EXPECT_EQ(codes[0], 1 << 20);
  EXPECT_EQ(codes[1], INT32_MIN);
  EXPECT_EQ(codes[2], 1000 * (1 << 20) + (1 << 18));
}

}  // namespace
}  // namespace halfstep
