#include "halfstep/simulation/pools.h"

#include <cmath>

namespace halfstep::simulation {
namespace {

constexpr double kVectorWorth = 32;

Requantizer requantizer_of(PoolWay way, double unit, double step, double zero_point) {
  switch (way) {
    case PoolWay::matrix:
      return {unit, step};
    case PoolWay::vector:
      return Requantizer::of_vector_unit(unit, step, zero_point);
    default:
      return Requantizer::of_vector_unit(unit, step, 0);
  }
}

}  // namespace

PoolAverage::PoolAverage(PoolWay way, double scale, double step, double count,
                         double zero_point) noexcept
    : requantizer_(requantizer_of(
          way, scale / count / (way == PoolWay::vector ? kVectorWorth : 1.0), step, zero_point)),
      worth_(way == PoolWay::vector ? kVectorWorth : 1.0),
      moved_(0) {
  const double ratio = scale / step;
  if (way == PoolWay::moved && ratio < 2) {
    constexpr int kBits = 5;
    moved_ = std::ldexp(1.0, static_cast<int>(std::floor(std::log2(ratio))) - kBits);
  }
}

double PoolAverage::code(double sum) const noexcept {
  constexpr double kHalf = 0.5;
  return std::floor(requantizer_.steps(sum * worth_) + moved_ + kHalf);
}

}  // namespace halfstep::simulation
