// With Qualcomm's own libraries, where they are installed: what the adapter says must be what the
// libraries do.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/engines/qnn/client.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/values.h"
#include "halfstep/support/error.h"
#include "tests/unit/engines_qnn/graphs.h"

namespace halfstep::qnn {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Outcome = OpVerdict::Outcome;

class QnnLibraries : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      client_.emplace(ClientOptions{.worker = HALFSTEP_COMMAND});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Client& client() { return *client_; }

 private:
  std::optional<Client> client_{};
};

constexpr std::size_t kIn = 8;
constexpr std::size_t kOut = 4;

/// Conv2d 1x1 of [1, 2, 2, 8] with per-channel weights and a bias, then Relu.
struct ConvRelu {
  std::vector<std::int8_t> weights{};
  std::vector<std::int32_t> bias{};
  std::vector<float> scales{};
  Graph graph{.name = "conv_relu"};

  ConvRelu() {
    for (std::size_t i = 0; i < kIn * kOut; ++i) {
      weights.push_back(static_cast<std::int8_t>(static_cast<int>((i * 37 + 11) % 255) - 127));
    }
    for (std::size_t c = 0; c < kOut; ++c) {
      scales.push_back(0.002F * static_cast<float>(c + 1));
      bias.push_back(static_cast<std::int32_t>(c) * 100 - 150);
    }
    const Quantization weight{.kind = Quantization::Kind::per_axis, .scales = scales, .axis = 3};
    Quantization accumulator{.kind = Quantization::Kind::per_axis, .axis = 0};
    for (const float scale : scales) {
      accumulator.scales.push_back(scale * kInScale);
    }
    graph.tensors = {tensor("x", TensorKind::app_write, DataType::ufixed8, {1, 2, 2, kIn},
                            per_tensor(kInScale, -128)),
                     constant("w", DataType::sfixed8, {1, 1, kIn, kOut}, weights, weight),
                     constant("b", DataType::sfixed32, {kOut}, bias, accumulator),
                     tensor("c", TensorKind::native, DataType::ufixed8, {1, 2, 2, kOut},
                            per_tensor(kOutScale, 0)),
                     tensor("y", TensorKind::app_read, DataType::ufixed8, {1, 2, 2, kOut},
                            per_tensor(kOutScale, 0))};
    const auto pair = [](std::vector<std::uint32_t> dims, const std::vector<std::uint32_t>& v) {
      return constant("", DataType::uint32, std::move(dims), v);
    };
    graph.ops = {{.name = "conv",
                  .type = "Conv2d",
                  .inputs = {"x", "w", "b"},
                  .outputs = {"c"},
                  .params = {{.name = "stride", .value = pair({2}, {1, 1})},
                             {.name = "pad_amount", .value = pair({2, 2}, {0, 0, 0, 0})},
                             {.name = "dilation", .value = pair({2}, {1, 1})},
                             {.name = "group", .value = std::uint32_t{1}}}},
                 {.name = "relu", .type = "Relu", .inputs = {"c"}, .outputs = {"y"}}};
  }

  /// The exact result in output steps.
  [[nodiscard]] double expected(const std::vector<std::uint8_t>& x, std::size_t pixel,
                                std::size_t channel) const {
    double sum = bias[channel];
    for (std::size_t k = 0; k < kIn; ++k) {
      sum += (x[pixel * kIn + k] - 128.0) * weights[k * kOut + channel];
    }
    const double steps = sum * kInScale * scales[channel] / kOutScale;
    return std::fmin(std::fmax(std::round(steps), 0.0), 255.0);
  }

  static constexpr float kInScale = 0.01F;
  static constexpr float kOutScale = 0.02F;
};

std::vector<std::uint8_t> some_codes(std::size_t count) {
  std::vector<std::uint8_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<std::uint8_t>((i * 73 + 5) % 256);
  }
  return codes;
}

Values input_x(const std::vector<std::uint8_t>& codes) {
  return {{"x", {.type = DataType::ufixed8, .dims = {}, .data = bytes_of(codes)}}};
}

TEST_F(QnnLibraries, SayTheirVersions) {
  EXPECT_THAT(client().versions(),
              ElementsAre(HasSubstr("core API 2."), HasSubstr("IR"), HasSubstr("system API 1.")));
}

TEST_F(QnnLibraries, AcceptAndRefuseWithTheListOfTypes) {
  EXPECT_TRUE(client().validate(unary("Relu"))[0].accepted());
  const OpVerdict mixed = client().validate(unary("Relu", DataType::sfixed8))[0];
  EXPECT_EQ(mixed.outcome, Outcome::refused);
  EXPECT_THAT(mixed.messages, Contains(HasSubstr("mismatching datatypes")));
  EXPECT_THAT(mixed.kernels, Contains("INT8: in[0] ufixed8, out[0] ufixed8"));
  const OpVerdict unknown = client().validate(unary("NoSuchOp"))[0];
  EXPECT_EQ(unknown.outcome, Outcome::refused);
  EXPECT_TRUE(unknown.kernels.empty());
}

TEST_F(QnnLibraries, RunConvolutionAndRelu) {
  const ConvRelu net;
  for (const OpVerdict& verdict : client().validate(net.graph)) {
    EXPECT_TRUE(verdict.accepted()) << net.graph.ops[verdict.op].name;
  }
  const std::vector<std::uint8_t> x = some_codes(4 * kIn);
  const Values outputs = client().run(net.graph, input_x(x), {.keep = {"c"}});
  for (const char* name : {"c", "y"}) {
    const auto codes = values_of<std::uint8_t>(outputs.at(name).data);
    ASSERT_EQ(codes.size(), 4 * kOut);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      EXPECT_NEAR(codes[i], net.expected(x, i / kOut, i % kOut), 1.0) << name << " " << i;
    }
  }
}

TEST_F(QnnLibraries, FloatTensorsAreComputedAsFloat16) {
  Graph graph = unary("Sigmoid");
  for (Tensor& each : graph.tensors) {
    each.type = DataType::float32;
    each.quantization = {};
  }
  std::vector<float> x(16);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i) / 4.0F - 2.0F;
  }
  const Values outputs =
      client().run(graph, {{"x", {.type = DataType::float32, .data = bytes_of(x)}}});
  const auto y = values_of<float>(outputs.at("y").data);
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = 1.0 / (1.0 + std::exp(-static_cast<double>(x[i])));
    worst = std::fmax(worst, std::abs(y[i] - exact));
  }
  EXPECT_LT(worst, 2e-3);
  EXPECT_GT(worst, 1e-7);  // float32 would be closer
}

}  // namespace
}  // namespace halfstep::qnn
