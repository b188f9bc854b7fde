#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"
#include "tests/unit/core/golden/vectors.h"

namespace halfstep {
namespace {

ResolvedSpec lpbq_spec(std::int64_t axis, std::int64_t block) {
  return resolve({.dtype = Dtype::int4, .granularity = Lpbq{.axis = axis, .block_size = block}},
                 Role::weight);
}

TEST(Lpbq, EqualsTheParametersThatAimetExports) {
  const Json file =
      golden::read_json(std::filesystem::path(HALFSTEP_TEST_DATA) / "golden/lpbq/aimet.json");
  ASSERT_FALSE(file["cases"].empty());
  for (const Json& test : file["cases"]) {
    const golden::GoldenTensor weight = golden::read_tensor(test["weight"]);
    const ResolvedSpec spec =
        lpbq_spec(test["axis"].get<std::int64_t>(), test["block_size"].get<std::int64_t>());
    const Mapping mapping = fit(std::get<TensorView<const float>>(weight.view()), spec);
    EXPECT_TRUE(golden::same_integers(mapping.qparams.block_scale, test["block_scale"]))
        << test["id"];
    EXPECT_TRUE(golden::same_floats(mapping.qparams.channel_scale, test["channel_scale"]))
        << test["id"];
  }
}

TEST(Lpbq, ScaleIsTheProductOfBothFactors) {
  std::vector<float> x(4 * 32);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 23) - 11.0F;
  }
  x[40] = 100;  // one block of channel 1 is much wider than the others
  const Mapping mapping = fit(TensorView<const float>(x.data(), {4, 32}), lpbq_spec(1, 8));
  const QParams& p = mapping.qparams;
  ASSERT_EQ(p.scale.size(), 16U);
  ASSERT_EQ(p.channel_scale.size(), 4U);
  for (std::size_t unit = 0; unit < 16; ++unit) {
    EXPECT_GE(p.block_scale[unit], 1);
    EXPECT_LE(p.block_scale[unit], 16);
    EXPECT_EQ(p.scale[unit], static_cast<float>(p.block_scale[unit]) * p.channel_scale[unit / 4]);
  }
  EXPECT_EQ(p.block_scale[5], 16);
}

TEST(Lpbq, AllZeroKeepsAPositiveScale) {
  const std::vector<float> x(2 * 16, 0.0F);
  const Mapping mapping = fit(TensorView<const float>(x.data(), {2, 16}), lpbq_spec(-1, 16));
  EXPECT_GT(mapping.qparams.scale[0], 0.0F);
  EXPECT_EQ(mapping.qparams.block_scale[0], 16);
}

TEST(Lpbq, RefusesAChannelAxisOutsideTheTensor) {
  const std::vector<float> x(32, 1.0F);
  const ResolvedSpec spec = resolve(
      {.dtype = Dtype::int4, .granularity = Lpbq{.axis = 1, .block_size = 16, .channel_axis = 5}},
      Role::weight);
  EXPECT_THROW((void)fit(TensorView<const float>(x.data(), {2, 16}), spec), Error);
}

}  // namespace
}  // namespace halfstep
