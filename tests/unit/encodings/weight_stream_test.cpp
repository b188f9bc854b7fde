#include "halfstep/encodings/weight_stream.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/core/half.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

struct Case {
  std::string name;
  QuantizationSpec spec;
  Shape shape;
};

// Large enough for several pieces, the last of them shorter.
const Shape kTall = {1504, 257};
const Shape kSlabs = {17000, 264};  // more than one slab

std::vector<float> values_of(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::mt19937 random(7);
  for (float& value : values) {
    value = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F;
  }
  return values;
}

FloatSource source_of(const std::vector<float>& values, const Shape& shape) {
  return {.bytes = std::as_bytes(std::span(values)), .shape = shape};
}

std::vector<std::byte> written(WeightStream& stream) {
  std::vector<std::byte> all;
  stream.write_codes(
      [&](std::span<const std::byte> piece) { all.insert(all.end(), piece.begin(), piece.end()); });
  EXPECT_EQ(all.size(), stream.codes_size());
  return all;
}

/// What the whole tensor at once gives: packed codes.
std::vector<std::byte> at_once(const std::vector<float>& values, const Mapping& mapping) {
  std::vector<std::byte> codes(values.size() * storage_size(mapping.spec->dtype));
  quantize({values.data(), mapping.grid.shape}, mapping, codes);
  std::vector<std::byte> packed(packed_size(values.size(), mapping.spec->dtype));
  pack(codes, mapping.spec->dtype, packed);
  return packed;
}

class WeightStreamCases : public testing::TestWithParam<Case> {};

TEST_P(WeightStreamCases, EqualsTheWholeTensorAtOnce) {
  const Case& c = GetParam();
  const std::vector<float> values = values_of(c.shape);
  const ResolvedSpec spec = resolve(c.spec, Role::weight);
  const Mapping whole = fit({values.data(), c.shape}, spec);
  const std::vector<std::byte> expected = at_once(values, whole);
  for (const int threads : {1, 3}) {
    WeightStream stream(source_of(values, c.shape), spec, spec->dtype, threads);
    EXPECT_EQ(written(stream), expected);
    EXPECT_EQ(stream.parameters().scale, whole.qparams.scale);
    EXPECT_EQ(stream.parameters().zero_point, whole.qparams.zero_point);
    EXPECT_EQ(stream.encoding(), encoding_of(whole, Origin::calibrated));
    stream.drop_parameters();
    EXPECT_EQ(stream.parameters().scale, whole.qparams.scale);  // measured on their own
    EXPECT_EQ(written(stream), expected);                       // and a second time
    WeightStream known(source_of(values, c.shape), encoding_of(whole, Origin::calibrated),
                       spec->dtype, threads);
    EXPECT_EQ(written(known), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WeightStreamCases,
    testing::Values(
        Case{"blocks_of_rows",
             {.dtype = Dtype::int4, .granularity = PerBlock{.axis = 0, .block_size = {32}}},
             kTall},
        Case{"blocks_in_rows",
             {.dtype = Dtype::int4, .granularity = PerBlock{.axis = 1, .block_size = {24}}},
             kSlabs},
        Case{"channels_of_rows",
             {.dtype = Dtype::int8, .granularity = PerChannel{.axis = 0}},
             kTall},
        Case{"channels_across_rows",
             {.dtype = Dtype::int8,
              .qscheme = Scheme::symmetric_with_clipping,
              .granularity = PerChannel{.axis = 1}},
             kSlabs},
        Case{"asymmetric",
             {.dtype = Dtype::uint4,
              .qscheme = Scheme::asymmetric,
              .granularity = PerBlock{.axis = 0, .block_size = {16}}},
             kTall},
        Case{"one_scale", {.dtype = Dtype::uint16, .qscheme = Scheme::asymmetric}, kTall},
        Case{"odd_bits", {.dtype = Dtype::int3, .granularity = PerChannel{.axis = 1}}, kTall},
        Case{"mxfp4",
             {.dtype = Dtype::float4_e2m1fn_x2,
              .granularity = PerBlock{.axis = 0, .block_size = {32}}},
             kTall},
        Case{"tiles",
             {.dtype = Dtype::int8, .granularity = PerBlock{.block_size = {4, -1}}},
             kTall}),
    [](const auto& tested) { return tested.param.name; });

TEST(WeightStream, CountsAndLeavesOutWhatIsNotFinite) {
  std::vector<float> values = values_of(kTall);
  values[5] = std::numeric_limits<float>::quiet_NaN();
  values.back() = std::numeric_limits<float>::infinity();
  for (const Granularity& granularity :
       {Granularity(PerTensor{}), Granularity(PerChannel{.axis = 0})}) {
    const ResolvedSpec spec = resolve(
        {.dtype = Dtype::int8, .granularity = granularity, .policy = Policy::safe}, Role::weight);
    WeightStream stream(source_of(values, kTall), spec, Dtype::int8, 2);
    (void)written(stream);
    EXPECT_EQ(stream.nan_count(), 1);
    EXPECT_EQ(stream.infinity_count(), 1);
    EXPECT_EQ(stream.parameters().scale, fit({values.data(), kTall}, spec).qparams.scale);
  }
}

TEST(WeightStream, NanOfPolicyReferenceIsNoScale) {
  std::vector<float> values = values_of(kTall);
  values[values.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  for (const Granularity& granularity :
       {Granularity(PerTensor{}), Granularity(PerChannel{.axis = 0})}) {
    const ResolvedSpec spec =
        resolve({.dtype = Dtype::int8, .granularity = granularity}, Role::weight);
    WeightStream stream(source_of(values, kTall), spec, Dtype::int8, 2);
    try {
      (void)written(stream);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("must be finite"), std::string::npos)
          << error.what();
    }
  }
}

template <typename T>
void expect_same_as_float32(const std::vector<T>& narrow) {
  std::vector<float> values;
  for (const T value : narrow) {
    values.push_back(to_float(value));
  }
  const ResolvedSpec spec = resolve(
      {.dtype = Dtype::int4, .granularity = PerBlock{.axis = 0, .block_size = {32}}}, Role::weight);
  WeightStream stream(
      {.bytes = std::as_bytes(std::span(narrow)), .dtype = dtype_of<T>(), .shape = kTall}, spec,
      Dtype::int4, 2);
  EXPECT_EQ(written(stream), at_once(values, fit({values.data(), kTall}, spec)));
}

TEST(WeightStream, TakesEveryFloatType) {
  std::vector<Float16> halves;
  std::vector<BFloat16> brains;
  std::vector<double> doubles;
  for (const float value : values_of(kTall)) {
    halves.push_back(to_float16(value));
    brains.push_back(to_bfloat16(value));
    doubles.push_back(value);
  }
  expect_same_as_float32(halves);
  expect_same_as_float32(brains);
  expect_same_as_float32(doubles);
}

TEST(WeightStream, ReadsValuesThatAreNotAligned) {
  const std::vector<float> values = values_of(kTall);
  std::vector<std::byte> moved(values.size() * sizeof(float) + 1);
  std::memcpy(moved.data() + 1, values.data(), values.size() * sizeof(float));
  const ResolvedSpec spec = resolve({.dtype = Dtype::int8}, Role::weight);
  WeightStream stream({.bytes = std::span(moved).subspan(1), .shape = kTall}, spec, Dtype::int8, 1);
  EXPECT_EQ(written(stream), at_once(values, fit({values.data(), kTall}, spec)));
}

TEST(WeightStream, AnnouncesAndDropsEveryByteOnce) {
  const std::vector<float> values = values_of(kSlabs);
  FloatSource source = source_of(values, kSlabs);
  std::size_t announced = 0;
  std::size_t dropped = 0;
  source.prefetch = [&](std::span<const std::byte> part) { announced += part.size(); };
  source.drop = [&](std::span<const std::byte> part) { dropped += part.size(); };
  const ResolvedSpec spec = resolve(
      {.dtype = Dtype::int4, .granularity = PerBlock{.axis = 1, .block_size = {24}}}, Role::weight);
  WeightStream stream(source, spec, Dtype::int4, 1);
  std::size_t most = 0;
  stream.write_codes(
      [&](std::span<const std::byte> piece) { most = std::max(most, piece.size()); });
  EXPECT_EQ(dropped, values.size() * sizeof(float));
  EXPECT_GT(announced, 0U);
  EXPECT_LT(announced, dropped);         // the first slab is read when it is needed
  EXPECT_LT(most, stream.codes_size());  // and never all codes at once
}

TEST(WeightStream, RefusesWhatItCanNot) {
  EXPECT_FALSE(WeightStream::takes(QuantizationSpec{.dtype = Dtype::int32}));
  EXPECT_FALSE(WeightStream::takes(QuantizationSpec{.granularity = Lpbq{}}));
  EXPECT_FALSE(WeightStream::takes(QuantizationSpec{.qformulation = Formulation::minval}));
  const std::vector<float> values(6);
  EXPECT_THROW(WeightStream({.bytes = std::as_bytes(std::span(values)), .shape = {2, 2}},
                            resolve({}, Role::weight), Dtype::int8, 1),
               Error);
}

}  // namespace
}  // namespace halfstep
