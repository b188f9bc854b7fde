#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "halfstep/engines/qnn/graph.h"
#include "tests/unit/engines_qnn/graphs.h"

namespace halfstep::qnn {

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

}  // namespace halfstep::qnn
