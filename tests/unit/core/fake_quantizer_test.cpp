#include "halfstep/core/fake_quantizer.h"

#include <vector>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "tests/unit/core/fixtures.h"

namespace halfstep {
namespace {

std::vector<float> run(FakeQuantize& quantizer, std::vector<float> x, const Shape& shape) {
  quantizer.forward(FloatView(TensorView<const float>(x.data(), shape)),
                    FloatSpan(TensorView<float>(x.data(), shape)));
  return x;
}

TEST(FakeQuantize, SwitchesDoWhatTheySay) {
  FakeQuantize quantizer({}, Role::activation);
  const std::vector<float> x = testing_core::noise(12);
  quantizer.disable_observer();
  EXPECT_THROW(run(quantizer, x, {12}), Error);
  quantizer.disable_fake_quant();
  EXPECT_EQ(run(quantizer, x, {12}), x);
  EXPECT_FALSE(quantizer.observed());
  quantizer.enable_observer();
  EXPECT_EQ(run(quantizer, x, {12}), x);
  EXPECT_TRUE(quantizer.observed());
  quantizer.enable_fake_quant();
  quantizer.disable_observer();
  const float scale = quantizer.calculate_qparams().scale[0];
  EXPECT_NE(run(quantizer, std::vector<float>(12, 100.0F), {12})[0], 100.0F);
  EXPECT_EQ(quantizer.calculate_qparams().scale[0], scale);
}

TEST(FakeQuantize, UnevenBlocksByPolicy) {
  QuantizationSpec spec{.granularity = PerBlock{1, {4}}};
  const std::vector<float> x = testing_core::noise(30);
  FakeQuantize reference(spec, Role::weight);
  EXPECT_EQ(run(reference, x, {3, 10}), x);
  EXPECT_TRUE(reference.disabled());
  spec.policy = Policy::safe;
  FakeQuantize safe(spec, Role::weight);
  EXPECT_THROW(run(safe, x, {3, 10}), Error);
}

TEST(FakeQuantize, StateLoadsIntoAFreshQuantizer) {
  const QuantizationSpec spec{.dtype = Dtype::uint8,
                              .qscheme = Scheme::asymmetric,
                              .granularity = PerChannel{0},
                              .qparam_calculator_cls = "moving_average"};
  FakeQuantize first(spec, Role::activation);
  (void)run(first, testing_core::noise(12, 1), {3, 4});
  FakeQuantize second(spec, Role::activation);
  second.load_state(Json::parse(first.state().dump()));
  const std::vector<float> x = testing_core::noise(12, 2);
  EXPECT_EQ(run(first, x, {3, 4}), run(second, x, {3, 4}));
  EXPECT_EQ(first.state(), second.state());
  first.reset();
  EXPECT_FALSE(first.observed());
}

TEST(FakeQuantize, ShardsMergeToTheWhole) {
  const QuantizationSpec spec{.qparam_calculator_cls = "global_minmax"};
  FakeQuantize whole(spec, Role::activation);
  FakeQuantize left(spec, Role::activation);
  FakeQuantize right(spec, Role::activation);
  const std::vector<float> a = testing_core::noise(8, 1);
  const std::vector<float> b = testing_core::noise(8, 9);
  (void)run(whole, a, {8});
  (void)run(whole, b, {8});
  (void)run(left, a, {8});
  (void)run(right, b, {8});
  left.merge(right);
  EXPECT_EQ(left.state(), whole.state());
  FakeQuantize other({.dtype = Dtype::int4}, Role::activation);
  EXPECT_THROW(left.merge(other), Error);
}

TEST(FakeQuantize, MinvalGivesTheQuantOffset) {
  FakeQuantize quantizer({.dtype = Dtype::int4, .qformulation = Formulation::minval}, Role::weight);
  (void)run(quantizer, testing_core::noise(8), {8});
  EXPECT_EQ(quantizer.calculate_qparams().quant_offset, -8);
  FakeQuantize affine({.dtype = Dtype::int4}, Role::weight);
  (void)run(affine, testing_core::noise(8), {8});
  EXPECT_EQ(affine.calculate_qparams().quant_offset, std::nullopt);
}

TEST(FakeQuantize, BadInput) {
  FakeQuantize quantizer({.granularity = PerChannel{0}}, Role::activation);
  const std::vector<float> x = testing_core::noise(12);
  EXPECT_THROW((void)quantizer.calculate_qparams(), Error);
  EXPECT_THROW(run(quantizer, {}, {3, 0}), Error);
  (void)run(quantizer, x, {3, 4});
  EXPECT_NO_THROW((void)run(quantizer, x, {3, 4}));
  EXPECT_THROW(run(quantizer, x, {4, 3}), Error);
  EXPECT_THROW(run(quantizer, x, {12, 1}), Error);
  EXPECT_THROW(quantizer.set_granularity(PerTensor{}), Error);
  quantizer.reset();
  quantizer.set_granularity(PerTensor{});
  EXPECT_NO_THROW((void)run(quantizer, x, {4, 3}));
}

}  // namespace
}  // namespace halfstep
