#include "halfstep/calibration/calibrate.h"

#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor floats(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return make_tensor(Dtype::float32, {static_cast<std::int64_t>(values.size())}, std::move(bytes));
}

class ListSource final : public SampleSource {
 public:
  explicit ListSource(std::vector<std::vector<float>> samples) : samples_(std::move(samples)) {}
  [[nodiscard]] std::optional<std::size_t> size() const override { return samples_.size(); }
  [[nodiscard]] std::optional<Sample> next() override {
    if (position_ == samples_.size()) {
      return std::nullopt;
    }
    return Sample{{"x", floats(samples_[position_++])}};
  }
  [[nodiscard]] std::string where() const override {
    return "sample " + std::to_string(position_ - 1);
  }

 private:
  std::vector<std::vector<float>> samples_;
  std::size_t position_ = 0;
};

ObservedTensor observed(const std::string& name, const std::string& calculator = "global_minmax") {
  const QuantizationSpec spec{.dtype = Dtype::uint8,
                              .qscheme = Scheme::asymmetric,
                              .qparam_calculator_cls = calculator,
                              .averaging_constant = 0.5,
                              .policy = Policy::safe};
  return {.name = name, .spec = resolve(spec, Role::activation)};
}

class Calibrate : public testing::Test {
 protected:
  CalibrationResult run(std::vector<std::vector<float>> samples,
                        const std::vector<ObservedTensor>& tensors,
                        const CalibrateOptions& options = {}) {
    ListSource source(std::move(samples));
    diagnostics_.clear();
    return calibrate(model_, *engine_, source, tensors, options, progress_, diagnostics_);
  }

  Model model_ = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[N] x) => (float[N] y) { a = Neg (x) b = Sqrt (x) c = Add (a, b) y = Abs (c) }");
  std::unique_ptr<Engine> engine_ = make_onnxruntime_engine();
  SilentProgress progress_;
  Diagnostics diagnostics_;
};

TEST_F(Calibrate, RangesCoverAllSamples) {
  const auto result =
      run({{4, 9}, {1, 16}, {9, 9}}, {observed("x"), observed("a"), observed("b"), observed("y")});
  EXPECT_EQ(result.samples, 3U);
  EXPECT_THAT(result.statistics.at("x").range.min, ElementsAre(1));
  EXPECT_THAT(result.statistics.at("x").range.max, ElementsAre(16));
  EXPECT_THAT(result.statistics.at("a").range.min, ElementsAre(-16));
  EXPECT_THAT(result.statistics.at("b").range.max, ElementsAre(4));
  EXPECT_THAT(result.statistics.at("y").range.max, ElementsAre(12));
  EXPECT_EQ(result.statistics.at("b").values, 6);
  EXPECT_TRUE(diagnostics_.empty());
  ASSERT_EQ(result.outputs.size(), 1U);
  EXPECT_EQ(result.outputs[0].name, "y");
}

TEST_F(Calibrate, OtherCalculatorsSeeEachSample) {
  const auto result = run({{0, 4}, {0, 16}}, {observed("x", "moving_average")});
  EXPECT_THAT(result.statistics.at("x").range.max, ElementsAre(10));
}

TEST_F(Calibrate, NonFiniteValuesAreLeftOutCountedAndNamed) {
  const auto result = run({{4, 9}, {4, -1, -1}}, {observed("b"), observed("c"), observed("a")});
  EXPECT_THAT(result.statistics.at("b").range.min, ElementsAre(2));
  EXPECT_THAT(result.statistics.at("b").range.max, ElementsAre(3));
  EXPECT_EQ(result.statistics.at("b").nan_count, 2);
  ASSERT_EQ(diagnostics_.size(), 2U);
  EXPECT_EQ(diagnostics_[0].rule, "calibration/non-finite");
  EXPECT_EQ(diagnostics_[0].subject, "b");
  EXPECT_EQ(diagnostics_[0].severity, Severity::warning);
  EXPECT_THAT(diagnostics_[0].message,
              AllOf(HasSubstr("2 NaN and 0 infinities among 5"), HasSubstr("first in sample 1")));
}

TEST_F(Calibrate, InfinitiesInSamplesAreLeftOutToo) {
  const auto result = run({{4, kInfinity}}, {observed("x")});
  EXPECT_THAT(result.statistics.at("x").range.max, ElementsAre(4));
  EXPECT_EQ(result.statistics.at("x").infinity_count, 1);
}

TEST_F(Calibrate, NothingFiniteGivesAnEmptyRangeThatIsReported) {
  const auto result = run({{-1, -2}, {-3}}, {observed("b")});
  EXPECT_THAT(result.statistics.at("b").range.max, ElementsAre(0));
  EXPECT_EQ(result.statistics.at("b").nan_count, 3);
  EXPECT_THAT(diagnostics_.at(0).message, HasSubstr("nothing is known"));
}

TEST_F(Calibrate, HooksSeeTheFirstSamples) {
  std::vector<std::pair<std::size_t, std::size_t>> values;
  std::vector<std::size_t> outputs;
  CalibrateOptions options{.hook_samples = 2};
  options.on_value = [&](std::size_t tensor, std::size_t sample, const WatchedValue& value) {
    values.emplace_back(tensor, sample);
    EXPECT_EQ(value.count, 2);
  };
  options.on_outputs = [&](std::size_t sample, const Sample& inputs,
                           const std::vector<Tensor>& tensors) {
    outputs.push_back(sample);
    EXPECT_EQ(inputs.size(), 1U);
    EXPECT_EQ(tensors.at(0).shape, Shape{2});
  };
  static_cast<void>(run({{1, 1}, {4, 4}, {9, 9}}, {observed("a"), observed("y")}, options));
  EXPECT_THAT(outputs, ElementsAre(0, 1));
  using Pair = std::pair<std::size_t, std::size_t>;
  EXPECT_THAT(values, ElementsAre(Pair(0, 0), Pair(1, 0), Pair(0, 1), Pair(1, 1)));
}

TEST_F(Calibrate, NoSampleIsAnError) {
  try {
    static_cast<void>(run({}, {observed("a")}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file);
  }
}

TEST_F(Calibrate, ErrorsNameTheSample) {
  model_ = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[N] x) => (float[N] y) <float[2] w = {1, 2}> { y = Mul (x, w) }");
  try {
    static_cast<void>(run({{1, 2}, {1, 2, 3}}, {observed("y")}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("sample 1"));
  }
}

TEST_F(Calibrate, StopsWhenAsked) {
  CalibrateOptions options{.hook_samples = 1};
  options.on_outputs = [&](std::size_t, const Sample&, const std::vector<Tensor>&) {
    progress_.cancel();
  };
  try {
    static_cast<void>(run({{1}, {2}, {3}}, {observed("a")}, options));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
}

}  // namespace
}  // namespace halfstep
