#include "halfstep/simulation/fixed_point.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace halfstep::simulation {
namespace {

constexpr int kFractionBits = 15;
constexpr double kHalf = 0.5;

/// Largest shift s with m * 2^s < 1/8, which makes a multiplier of 12 bits of 15.
int shift_of(double m) {
  int exponent = 0;
  (void)std::frexp(m, &exponent);  // m in [2^(exponent - 1), 2^exponent)
  // m * 2^s < 2^-3 as soon as exponent + s <= -3.
  return -3 - exponent;
}

}  // namespace

Requantizer::Requantizer(double unit, double step) noexcept : half_(kHalf) {
  const double m = unit / step;
  const int shift = shift_of(m);
  shrink_ = std::ldexp(1.0, -shift);
  scale_ = std::ldexp(std::nearbyint(std::ldexp(m, shift + kFractionBits)), -kFractionBits);
}

Requantizer Requantizer::of_vector_unit(double unit, double step, double zero_point) noexcept {
  Requantizer made;
  const double m = unit / step;
  int exponent = 0;
  (void)std::frexp(m, &exponent);
  const int fraction = kFractionBits - exponent;
  made.scale_ = std::ldexp(std::nearbyint(std::ldexp(m, fraction)), -fraction);
  const float count = static_cast<float>(zero_point) / static_cast<float>(m);
  made.offset_ = static_cast<double>(std::nearbyint(count));
  made.zero_ = zero_point;
  return made;
}

double Requantizer::steps(double sum) const noexcept {
  return (std::floor((sum + offset_) * shrink_) + half_) * scale_ - zero_;
}

float bias_count(float code, float scale, float unit) noexcept {
  const float value = code * scale;
  return std::trunc(value / unit);
}

void channel_bias_counts(std::span<float> codes, float unit) noexcept {
  float largest = 0;
  for (const float code : codes) {
    largest = std::max(largest, std::abs(code * unit));
  }
  if (largest == 0) {
    return;
  }
  constexpr float kSteps = 268435456;  // 2^28
  const float step = largest / kSteps;
  const float factor = 1.0F / step;
  for (float& code : codes) {
    const float value = code * unit;
    const float kept = std::nearbyint(value * factor);
    code = std::trunc(kept * step / unit);
  }
}

WeightedSum weighted_sum(std::span<const double> ratios, std::span<const double> zero_points,
                         double zero_point) {
  double largest = std::abs(std::reduce(ratios.begin(), ratios.end(), 0.0));
  for (const double ratio : ratios) {
    largest = std::max(largest, std::abs(ratio));
  }
  constexpr int kBits = 13;
  constexpr int kCodeBits = 8;
  const int fraction = kBits - static_cast<int>(std::floor(std::log2(largest)));
  WeightedSum sum;
  double constant = zero_point;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const double multiplier =
        std::ldexp(std::nearbyint(std::ldexp(ratios[i], fraction)), -fraction);
    sum.multipliers.push_back(static_cast<float>(multiplier));
    constant -= zero_points[i] * multiplier;
  }
  constant =
      std::ldexp(std::nearbyint(std::ldexp(constant, fraction - kCodeBits)), kCodeBits - fraction);
  sum.constant = static_cast<float>(constant + kHalf);
  return sum;
}

double activation_input(double sum, double unit, double step, double highest) noexcept {
  constexpr int kSumBits = 13, kMultiplierBits = 11;
  int exponent = 0;
  const double mantissa = std::frexp(unit / step, &exponent);
  const double multiplier =
      std::ldexp(std::nearbyint(std::ldexp(mantissa, kMultiplierBits)), exponent - kMultiplierBits);
  const double bits = std::ceil(std::log2(highest * step / unit)) - kSumBits;
  if (bits <= 0) {
    return sum * multiplier * step;
  }
  const double dropped = std::exp2(bits);
  return (std::floor(sum / dropped) + 0.5) * dropped * multiplier * step;
}

Conversion conversion(double ratio, double zero_point_in, double zero_point_out) noexcept {
  constexpr double kGrid = 64, kConstantGrid = 2048;
  const int bits = 14 - std::ilogb(ratio);
  const double multiplier = std::ldexp(std::nearbyint(std::ldexp(ratio, bits)), -bits);
  const double constant =
      std::nearbyint((zero_point_out - zero_point_in * multiplier) * kConstantGrid) / kConstantGrid;
  return {.multiplier = static_cast<float>(kGrid * multiplier),
          .constant = static_cast<float>(kGrid * constant + 0.5)};
}

SecondOperand second_operand(std::span<const double> codes, std::size_t columns) {
  SecondOperand result{.codes = {codes.begin(), codes.end()},
                       .factor = std::vector<double>(columns, 1.0)};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    double& factor = result.factor[i % columns];
    factor = std::max({factor, codes[i] / 127, codes[i] / -128});
  }
  constexpr double kFactorGrid = 2048;
  for (double& factor : result.factor) {
    factor = std::nearbyint(factor * kFactorGrid) / kFactorGrid;
  }
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const double factor = result.factor[i % columns];
    if (factor > 1) {
      // Codes are integers, so a quotient is a tie or far from one: ties must not fall to noise.
      constexpr double kTie = 0.5 + 1e-9;
      result.codes[i] = std::clamp(std::floor(codes[i] / factor + kTie), -128.0, 127.0);
    }
  }
  return result;
}

}  // namespace halfstep::simulation
