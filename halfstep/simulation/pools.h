#pragma once

#include <cstdint>

#include "halfstep/simulation/fixed_point.h"

/// Average pools of Hexagon processors (v73 and later) on 8-bit codes. Source: measured on the
/// emulator of QNN 2.51: codes in, codes out.
namespace halfstep::simulation {

/// What computes an average. S: sum of a window's codes without zero points, n: how many, r = input
/// scale / output scale, m = r / n.
enum class PoolWay : std::uint8_t {
  matrix,  ///< Requantizer, a = S
  vector,  ///< Requantizer::of_vector_unit, a = 32 S
  exact,   ///< code = floor(S * M + 1/2) + zero_point, M = m rounded to 15 bits
  moved,  ///< code = floor(S * M + 2^(floor(log2 r) - 5) + 1/2) + zero_point; as exact where r >= 2
};

/// From sums to codes. Every code is the emulator's with matrix, vector and exact (random
/// encodings, r from 0.5 to 2), 99.9 to 100 of 100 with moved.
class PoolAverage {
 public:
  /// `scale`, `step`: of input and output; `count`: n; `zero_point`: of the output, for unsigned
  /// codes.
  PoolAverage(PoolWay way, double scale, double step, double count, double zero_point) noexcept;
  /// The code, without zero point, not clamped.
  [[nodiscard]] double code(double sum) const noexcept;

 private:
  Requantizer requantizer_;
  double worth_;  ///< counts of the requantizer that one of the sum is
  double moved_;  ///< what is added to its steps
};

}  // namespace halfstep::simulation
