#include "halfstep/simulation/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace halfstep::simulation {
namespace {

/// Softmax of longer rows has another kernel.
constexpr std::size_t kLongestExactRow = 16;

/// What a row is multiplied by before the powers of e.
double exponent_scale(double scale) {
  return cut_to_8_bits(scale * std::numbers::log2e) / std::numbers::log2e;
}

/// Sum of exp(scale * (c - largest)).
double sum_of_powers(std::span<const double> codes, double largest, double scale) {
  double sum = 0;
  for (const double code : codes) {
    sum += std::exp((code - largest) * scale);
  }
  return sum;
}

/// A kernel of rows that are not short.
void softmax_of_long_row(const SoftmaxRow& row, std::span<double> output) {
  constexpr int kPowerBits = 15, kStepBits = 16;
  const double exponent = cut_to_8_bits(row.scale * std::numbers::log2e);
  const double step = std::ldexp(std::floor(std::ldexp(row.step, kStepBits)), -kStepBits);
  const double largest = *std::ranges::max_element(row.codes);
  double sum = 0;
  std::ranges::transform(row.codes, output.begin(), [&](double code) {
    const double power = std::floor(std::exp2((code - largest) * exponent + kPowerBits));
    sum += power;
    return power;
  });
  const double factor = (step > 0 ? row.step / step : 1) / sum;
  std::ranges::for_each(output, [factor](double& value) { value *= factor; });
}

}  // namespace

double cut_to_8_bits(double value) noexcept {
  constexpr int kBits = 8;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::floor(std::ldexp(mantissa, kBits)), exponent - kBits);
}

void softmax(const SoftmaxRow& row, std::span<double> output) {
  if (row.codes.empty()) {
    return;
  }
  if (row.codes.size() > kLongestExactRow) {
    softmax_of_long_row(row, output);
    return;
  }
  const double largest = *std::ranges::max_element(row.codes);
  const double sum = sum_of_powers(row.codes, largest, row.scale);
  std::ranges::transform(row.codes, output.begin(),
                         [&](double code) { return std::exp((code - largest) * row.scale) / sum; });
}

void log_softmax(const SoftmaxRow& row, std::span<double> output) {
  if (row.codes.empty()) {
    return;
  }
  const double scale = cut_to_8_bits(row.scale);
  const double largest = *std::ranges::max_element(row.codes);
  constexpr double kOffset = 0.035;
  const double sum = sum_of_powers(row.codes, largest, exponent_scale(row.scale));
  const double shift = kOffset * row.step - std::log(sum);
  std::ranges::transform(row.codes, output.begin(),
                         [&](double code) { return (code - largest) * scale + shift; });
}

}  // namespace halfstep::simulation
