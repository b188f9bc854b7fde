#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// The fixed-point arithmetic of Hexagon processors (v73 and later) on 8-bit codes. Source:
/// measured on the emulator of QNN 2.51 (v73, v75, v79, v81 agree; v68 and v69 compute
/// differently): codes in, codes out, nothing else was looked at.
namespace halfstep::simulation {

/// How a sum of products becomes an output code.
///
///   a: the exact sum of products of codes without zero points, and the bias code
///   m = unit / step: output steps one count of `a` is worth
///   s = largest integer with m * 2^s < 1/8, negative where m >= 1/8
///   M = round(m * 2^(s + 15)), a multiplier of 12 bits
///   steps(a) = (floor(a / 2^s) + 1/2) * M / 2^15
///   code = clamp(floor(steps(a) + 1/2) + zero_point)
///
/// No exception in 69 values of m from 0.06 to 20; plain rounding of a * m gives another code for
/// about 2 sums of 100, one step away.
class Requantizer {
 public:
  /// `unit`: what one count of the sum is worth; `step`: what one output code is worth. Both
  /// positive and finite, in the same unit.
  Requantizer(double unit, double step) noexcept;
  /// The vector unit, which keeps the whole sum:
  ///
  ///   k = largest integer with m * 2^k < 2^15
  ///   M = round(m * 2^k), a multiplier of 15 bits
  ///   K = round(float32(zero_point / m)), the zero point as a count of `a`
  ///   steps(a) = (a + K) * M / 2^k - zero_point
  ///
  /// Bias codes lose nothing there. `zero_point`: of unsigned codes. All but 6 of 700,000 codes are
  /// the emulator's; plain rounding of a * m differs for about 1 of 800.
  static Requantizer of_vector_unit(double unit, double step, double zero_point) noexcept;
  /// steps(a) of the formula above.
  [[nodiscard]] double steps(double sum) const noexcept;

 private:
  Requantizer() = default;
  double offset_ = 0;  ///< K
  double shrink_ = 1;  ///< 2^-s
  double half_ = 0;    ///< 1/2, or 0
  double scale_ = 1;   ///< M / 2^15, or M / 2^k
  double zero_ = 0;    ///< zero_point
};

/// A bias code as a count of the sum: through its value in float32, and cut towards zero, so that a
/// code of the very unit may lose one.
///
///   count = trunc(float32(float32(code * scale) / unit))
[[nodiscard]] float bias_count(float code, float scale, float unit) noexcept;

/// The bias codes of weights with a scale a channel, in place, as counts of each channel's sum. The
/// encoding of the bias has no effect; all channels share one step, so that one code changes what
/// becomes of the others, and about half of the channels lose a count.
///
///   p = float32(input scale * largest weight scale), `unit`
///   r_i = float32(code_i * p)
///   S = float32(max |r| / 2^28)
///   q_i = round(float32(r_i * float32(1 / S)))
///   count_i = trunc(float32(float32(q_i * S) / p))
///
/// 5,630 of 5,632 counts are the emulator's (v73, v75, v79, v81).
void channel_bias_counts(std::span<float> codes, float unit) noexcept;

/// The sums that an activation reads which is computed in the same step and is no clamp (PRelu,
/// HardSwish): they are cut as well, to 13 bits of the largest result.
///
///   m = unit / step
///   s = max(0, ceil(log2(highest / m)) - 13), `highest` in output codes above the zero point
///   M = m rounded to 11 bits
///   value = (floor(a / 2^s) + 1/2) * 2^s * M * step; a * M * step where s = 0
///
/// With it PRelu gives 99.4 of 100 codes of the emulator (exact sums 99.0, Requantizer 98.3),
/// HardSwish 98.0 (97.9, 97.6).
[[nodiscard]] double activation_input(double sum, double unit, double step,
                                      double highest) noexcept;

/// How weighted codes are added up: Add, Sub of 8-bit codes.
///
///   r_i = scale_i / step, negative for what is subtracted
///   S = the largest of |r_1|, |r_2|, |r_1 + r_2|
///   k = 13 - floor(log2(S))
///   M_i = round(r_i * 2^k) / 2^k
///   K = round((zero_point - sum of zero_point_i * M_i) * 2^(k - 8)) / 2^(k - 8)
///   code = clamp(floor(sum of code_i * M_i + K + 1/2))
///
/// All of it is exact in float32. 79 of 80 random pairs of encodings give the emulator's codes
/// without exception; plain rounding gives another code for about 1 of 130.
struct WeightedSum {
  std::vector<float> multipliers{};  ///< M_i
  float constant = 0;                ///< K + 1/2
};
[[nodiscard]] WeightedSum weighted_sum(std::span<const double> ratios,
                                       std::span<const double> zero_points, double zero_point);

/// How codes become codes of another encoding: Concat, Slice, Max, Min, ReduceMax, ReduceMin, and
/// nothing in between.
///
///   r = input scale / output scale
///   M = round(r * 2^k) / 2^k, k = 14 - floor(log2(r))
///   K = round((zero_point_out - zero_point_in * M) * 2^11) / 2^11
///   code = clamp(floor(floor(64 (code_in * M + K) + 1/2) / 64 + 1/2))
///
/// 57 of 60 random pairs of encodings give the emulator's codes without exception, 99.97 of 100
/// codes are equal; plain rounding gives 14 of 60 and 99.5 of 100.
struct Conversion {
  float multiplier = 0;  ///< 64 M
  float constant = 0;    ///< 64 K + 1/2
};
[[nodiscard]] Conversion conversion(double ratio, double zero_point_in,
                                    double zero_point_out) noexcept;

/// A matrix [rows, columns] of codes without zero point, row-major, that is the second operand of a
/// product of two activations. The processor multiplies by signed 8-bit numbers, so a column that
/// leaves them is rounded again:
///
///   r = round(2^11 * max(1, largest / 127, -smallest / 128)) / 2^11, by column
///   result = floor(code / r + 1/2)
///
/// and a count of its products is worth r times as much. 99.99 of 100 codes of products are the
/// emulator's, 99.83 in the worst of 24 random pairs.
struct SecondOperand {
  std::vector<double> codes{};   ///< as the input
  std::vector<double> factor{};  ///< r, by column
};
[[nodiscard]] SecondOperand second_operand(std::span<const double> codes, std::size_t columns);

/// One group of values that a norm looks at, on 8-bit codes.
struct NormRow {
  std::span<const double> codes{};  ///< c, without zero point
  double epsilon = 0;               ///< in codes^2: epsilon / scale^2
  std::span<const double> gamma{};  ///< in output codes
  double gamma_scale = 0;           ///< what a code of gamma is worth, in output codes
  std::span<const double> beta{};   ///< in output codes; empty: 0
  double zero_point = 0;            ///< of the output
};

/// LayerNorm:
///
///   mean = floor(64 * mean(c)) / 64
///   M = floor(2^16 * gamma_scale / sqrt(variance(c) + epsilon)) / 2^16
///   code = floor((c - mean) * gamma / gamma_scale * M + 1/2) + round(beta) + zero_point
///
/// so beta is rounded to whole output codes. 9,998 of 10,000 codes are the emulator's, the others
/// one step away. Output: codes, not clamped.
void layer_norm(const NormRow& row, std::span<double> output);

/// RmsNorm, which rounds down:
///
///   code = floor(float16(c / sqrt(mean(c^2) + epsilon) * gamma + beta + zero_point))
///
/// All codes are the emulator's.
void rms_norm(const NormRow& row, std::span<double> output);

/// InstanceNorm, one channel of one image:
///
///   code = floor(float16((c - mean(c)) / sqrt(variance(c) + epsilon) * gamma + beta + zero_point +
///                        1/2))
///
/// All codes are the emulator's.
void instance_norm(const NormRow& row, std::span<double> output);

}  // namespace halfstep::simulation
