#include "halfstep/core/observers/observer.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "tests/unit/core/fixtures.h"

namespace halfstep {
namespace {

void feed(Observer& observer, const std::vector<float>& x, const Shape& shape) {
  observer.observe(FloatView(TensorView<const float>(x.data(), shape)));
}

std::vector<float> lowest(const Observer& observer) {
  return {observer.min_val().begin(), observer.min_val().end()};
}

TEST(Observer, EveryClassSavesLoadsAndResets) {
  for (const std::string_view name : observer_names()) {
    const auto first = make_observer(name);
    const Json fresh = first->state();
    feed(*first, testing_core::noise(64, 3), {8, 8});
    const auto second = make_observer(name);
    second->load_state(Json::parse(first->state().dump()));
    feed(*first, testing_core::noise(64, 5), {8, 8});
    feed(*second, testing_core::noise(64, 5), {8, 8});
    EXPECT_EQ(first->state(), second->state()) << name;
    EXPECT_EQ(first->calculate_qparams().scale, second->calculate_qparams().scale) << name;
    first->reset_min_max_vals();
    EXPECT_EQ(first->state(), fresh) << name;
    EXPECT_EQ(first->calculate_qparams().scale, std::vector<float>{1.0F}) << name;
    EXPECT_THROW(first->load_state(Json::parse("{}")), Error) << name;
  }
}

TEST(Observer, MinMaxMergesAndMovingAveragesRefuse) {
  for (const std::string_view name : observer_names()) {
    const auto whole = make_observer(name);
    const auto left = make_observer(name);
    const auto right = make_observer(name);
    const std::vector<float> a = testing_core::noise(64, 3);
    const std::vector<float> b = testing_core::noise(64, 4);
    feed(*whole, a, {8, 8});
    feed(*whole, b, {8, 8});
    feed(*left, a, {8, 8});
    feed(*right, b, {8, 8});
    if (name.starts_with("MovingAverage")) {
      EXPECT_THROW(left->merge(*right), Error) << name;
      continue;
    }
    left->merge(*right);
    EXPECT_EQ(lowest(*left), lowest(*whole)) << name;
    if (name != "HistogramObserver") {
      EXPECT_EQ(left->state(), whole->state()) << name;
    }
  }
}

TEST(Observer, OptionsAreChecked) {
  EXPECT_THROW(make_observer("MinMaxObserver", {.quant_min = 0}), Error);
  EXPECT_THROW(make_observer("MinMaxObserver", {.quant_min = 5, .quant_max = 9}), Error);
  EXPECT_THROW(make_observer("MinMaxObserver", {.qscheme = ObserverScheme::per_channel_affine}),
               Error);
  EXPECT_THROW(make_observer("HistogramObserver", {.bins = 1}), Error);
  EXPECT_THROW((void)parse_observer_dtype("float8_e4m3fn"), Error);
  EXPECT_THROW((void)parse_observer_dtype("qint9"), Error);
  EXPECT_EQ(name(parse_observer_dtype("quint4x2")), "quint4x2");
  EXPECT_EQ(name(parse_observer_scheme("per_tensor_symmetric")), "per_tensor_symmetric");
  try {
    (void)make_observer("MinMaxObservr");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("MinMaxObserver"), std::string::npos);
  }
}

TEST(Observer, SafePolicyCountsWhatItLeavesOut) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {1, std::numeric_limits<float>::quiet_NaN(), -infinity, -2};
  for (const char* name : {"MinMaxObserver", "HistogramObserver"}) {
    const auto observer = make_observer(name, {.policy = Policy::safe});
    feed(*observer, x, {4});
    EXPECT_EQ(observer->nan_count(), 1) << name;
    EXPECT_EQ(observer->infinity_count(), 1) << name;
    EXPECT_EQ(observer->min_val()[0], -2) << name;
  }
  const auto reference = make_observer("HistogramObserver");
  EXPECT_THROW(feed(*reference, x, {4}), Error);
}

TEST(Observer, HistogramOfAConstantAndOfItsWidening) {
  const auto observer = make_observer("HistogramObserver", {.bins = 8});
  feed(*observer, std::vector<float>(10, 3.0F), {10});
  feed(*observer, {-1, 5}, {2});
  EXPECT_EQ(observer->min_val()[0], -1);
  EXPECT_EQ(observer->max_val()[0], 5);
  double total = 0;
  const Json state = observer->state();
  for (const Json& bin : state["histogram"]) {
    total += bin.get<double>();
  }
  EXPECT_DOUBLE_EQ(total, 12);
}

}  // namespace
}  // namespace halfstep
