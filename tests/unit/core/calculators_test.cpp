#include "halfstep/core/calculators.h"

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/core/fake_quantizer.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

Ranges batch(float min, float max) { return {.min = {min}, .max = {max}}; }

std::unique_ptr<QParamsCalculatorBase> make(const std::string& name, Policy policy = Policy::safe,
                                            std::optional<double> float_max = std::nullopt) {
  return make_qparams_calculator(resolve({.qparam_calculator_cls = name,
                                          .float_max = float_max,
                                          .averaging_constant = 0.5,
                                          .policy = policy},
                                         Role::activation));
}

TEST(Calculators, RulesOfTheBuiltIns) {
  for (const auto& [name, min, max] :
       {std::tuple{"static", -2.0F, 0.0F}, std::tuple{"dynamic", -2.0F, 0.0F},
        std::tuple{"global_minmax", -2.0F, 4.0F}, std::tuple{"moving_average", -1.0F, 2.0F},
        std::tuple{"default", -1.0F, 2.0F}}) {
    const auto calculator = make(name);
    EXPECT_THROW((void)calculator->range(), Error) << name;
    calculator->update(batch(1, 4));
    calculator->update(batch(-2, -1));
    EXPECT_EQ(calculator->range().min[0], min) << name;
    EXPECT_EQ(calculator->range().max[0], max) << name;
    calculator->reset();
    EXPECT_THROW((void)calculator->range(), Error) << name;
  }
}

TEST(Calculators, StateRoundTrips) {
  for (const char* name : {"static", "dynamic", "global_minmax", "moving_average"}) {
    const auto first = make(name);
    first->update(batch(-0.1F, 1.0F / 3.0F));
    const auto second = make(name);
    second->load_state(Json::parse(first->state().dump()));
    first->update(batch(-1, 7));
    second->update(batch(-1, 7));
    EXPECT_EQ(first->state(), second->state()) << name;
  }
  EXPECT_THROW(make("static")->load_state(Json::parse("{}")), Error);
  EXPECT_THROW(make("static")->load_state(Json::parse(R"({"range": 1})")), Error);
}

TEST(Calculators, OnlyOrderFreeStatisticsMerge) {
  const auto whole = make("global_minmax");
  const auto left = make("global_minmax");
  const auto right = make("global_minmax");
  whole->update(batch(-1, 2));
  whole->update(batch(-3, 1));
  left->update(batch(-1, 2));
  right->update(batch(-3, 1));
  left->merge(*right);
  EXPECT_EQ(left->state(), whole->state());
  for (const char* name : {"static", "moving_average"}) {
    const auto a = make(name);
    const auto b = make(name);
    EXPECT_THROW(a->merge(*b), Error) << name;
  }
}

TEST(Calculators, FixedBoundsDriftOnlyUnderReference) {
  const auto safe = make("moving_average", Policy::safe, 0.7);
  const auto reference = make_qparams_calculator(
      resolve({.qparam_calculator_cls = "moving_average", .float_max = 0.7}, Role::activation));
  for (int i = 0; i < 400; ++i) {
    safe->update(batch(-1, 5));
    reference->update(batch(-1, 5));
  }
  EXPECT_EQ(safe->range().max[0], 0.7F);
  EXPECT_NE(reference->range().max[0], 0.7F);
}

TEST(Calculators, BatchesMustHaveTheSameUnits) {
  const auto calculator = make("global_minmax");
  calculator->update(batch(0, 1));
  EXPECT_THROW(calculator->update({.min = {0, 0}, .max = {1, 1}}), Error);
  const auto dynamic = make("dynamic");
  dynamic->update(batch(0, 1));
  EXPECT_NO_THROW(dynamic->update({.min = {0, 0}, .max = {1, 1}}));
}

/// A user's calculator: twice the widest range.
class Doubled final : public QParamsCalculatorBase {
 public:
  explicit Doubled(double factor) : factor_(static_cast<float>(factor)) {}
  void update(const Ranges& batch) override { range_ = batch; }
  [[nodiscard]] Ranges range() const override {
    Ranges range = range_;
    range.min[0] *= factor_;
    range.max[0] *= factor_;
    return range;
  }
  void reset() override { range_ = {}; }

 private:
  float factor_;
  Ranges range_{};
};

/// Halves the values instead of quantizing them.
class Halving final : public FakeQuantizeImplBase {
 public:
  void fake_quantize(const FloatView& x, const Mapping&, const FloatSpan& y, int) const override {
    const auto& from = std::get<TensorView<const float>>(x);
    const auto& to = std::get<TensorView<float>>(y);
    for (std::int64_t i = 0; i < from.size(); ++i) {
      to.data()[i] = from.data()[i] / 2;
    }
  }
};

class OneRange final : public RangeCalculatorBase {
 public:
  [[nodiscard]] Ranges measure(const FloatView&, const UnitGrid&, int) const override {
    return batch(-1, 1);
  }
};

TEST(Calculators, FamiliesAreOpen) {
  qparams_calculators().add("doubled", [](const ResolvedSpec& spec) {
    return std::make_unique<Doubled>(get_extra_args(spec.spec())["factor"].get<double>());
  });
  range_calculators().add("one", [](const ResolvedSpec&) { return std::make_unique<OneRange>(); });
  fake_quantizers().add("halving", [](const ResolvedSpec&) { return std::make_unique<Halving>(); });
  EXPECT_THROW(qparams_calculators().add("doubled", {}), Error);
  EXPECT_THROW(range_calculators().add("minmax", {}), Error);
  const QuantizationSpec spec = spec_from_json(Json{{"qparam_calculator_cls", "doubled"},
                                                    {"range_calculator_cls", "one"},
                                                    {"fake_quantize_cls", "halving"},
                                                    {"factor", 2}},
                                               {"factor"});
  FakeQuantize quantizer(spec, Role::weight);
  std::vector<float> x = {8, 4};
  quantizer.forward(FloatView(TensorView<const float>(x.data(), {2})),
                    FloatSpan(TensorView<float>(x.data(), {2})));
  EXPECT_EQ(x, (std::vector<float>{4, 2}));
  EXPECT_EQ(quantizer.calculate_qparams().scale[0], 2.0F / 127.5F);
  EXPECT_THROW((void)quantizer.state(), Error);
}

}  // namespace
}  // namespace halfstep
