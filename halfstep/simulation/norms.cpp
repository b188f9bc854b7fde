#include <cmath>
#include <cstddef>
#include <numeric>

#include "halfstep/core/half.h"
#include "halfstep/simulation/fixed_point.h"

namespace halfstep::simulation {
namespace {

double mean_of(std::span<const double> codes) {
  return std::reduce(codes.begin(), codes.end(), 0.0) / static_cast<double>(codes.size());
}

double mean_square(std::span<const double> codes, double centre) {
  double sum = 0;
  for (const double code : codes) {
    sum += (code - centre) * (code - centre);
  }
  return sum / static_cast<double>(codes.size());
}

double at(std::span<const double> values, std::size_t i) {
  return values.empty() ? 0.0 : values[values.size() == 1 ? 0 : i];
}

/// The chip goes on with float16.
double in_float16(double value) {
  return static_cast<double>(to_float(to_float16(static_cast<float>(value))));
}

}  // namespace

void layer_norm(const NormRow& row, std::span<double> output) {
  constexpr int kMeanBits = 6;
  constexpr int kBits = 16;
  constexpr double kHalf = 0.5;
  const double exact = mean_of(row.codes);
  const double mean = std::ldexp(std::floor(std::ldexp(exact, kMeanBits)), -kMeanBits);
  const double deviation = std::sqrt(mean_square(row.codes, exact) + row.epsilon);
  const double multiplier =
      std::ldexp(std::floor(std::ldexp(row.gamma_scale / deviation, kBits)), -kBits);
  for (std::size_t i = 0; i < row.codes.size(); ++i) {
    const double gamma = std::nearbyint(at(row.gamma, i) / row.gamma_scale);
    output[i] = std::floor((row.codes[i] - mean) * gamma * multiplier + kHalf) +
                std::nearbyint(at(row.beta, i)) + row.zero_point;
  }
}

void rms_norm(const NormRow& row, std::span<double> output) {
  const double factor = 1 / std::sqrt(mean_square(row.codes, 0) + row.epsilon);
  for (std::size_t i = 0; i < row.codes.size(); ++i) {
    output[i] = std::floor(
        in_float16(row.codes[i] * factor * at(row.gamma, i) + at(row.beta, i) + row.zero_point));
  }
}

void instance_norm(const NormRow& row, std::span<double> output) {
  constexpr double kHalf = 0.5;
  const double mean = mean_of(row.codes);
  const double factor = 1 / std::sqrt(mean_square(row.codes, mean) + row.epsilon);
  for (std::size_t i = 0; i < row.codes.size(); ++i) {
    output[i] = std::floor(in_float16((row.codes[i] - mean) * factor * at(row.gamma, i) +
                                      at(row.beta, i) + row.zero_point + kHalf));
  }
}

}  // namespace halfstep::simulation
