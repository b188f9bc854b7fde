#pragma once

#include <span>

/// Softmax and LogSoftmax of Hexagon processors (v73 and later) on 8-bit codes. Source: measured on
/// the emulator of QNN 2.51, codes in and codes out.
namespace halfstep::simulation {

/// `value`, positive and finite, with the 8 highest bits of its mantissa; the rest is cut off, not
/// rounded. Up to 1 part in 128 smaller than `value`.
[[nodiscard]] double cut_to_8_bits(double value) noexcept;

/// What Softmax looks at. An empty row stays empty.
struct SoftmaxRow {
  std::span<const double> codes{};  ///< c, the zero point has no effect
  double scale = 1;                 ///< of the codes; positive and finite
  double step = 1;                  ///< of the output; positive and finite
};

/// Rows of up to 16 codes: exact. Longer ones:
///
///   p = floor(2^(15 + cut_to_8_bits(scale * log2(e)) * (c - max c)))
///   code = round(p / sum of p / (floor(step * 2^16) / 2^16))
///
/// Output: values, step * code before rounding. Equal to the emulator's codes: 99.8 to 99.99 % of
/// long rows (powers are a count of 2^-15 off at some codes, and the reciprocal of the sum has an
/// error of its own), 98 to 99.9 % of short ones.
void softmax(const SoftmaxRow& row, std::span<double> output);

/// Rows of any length, to values:
///
///   p = 2^(cut_to_8_bits(scale * log2(e)) * (c - max c))
///   output = cut_to_8_bits(scale) * (c - max c) - log(sum of p) + 0.035 * step
///
/// Where the last term comes from is not known. 99.7 % of the codes are the emulator's (98 to 100
/// %, 192 pairs of encodings and lengths), the others one step away.
void log_softmax(const SoftmaxRow& row, std::span<double> output);

}  // namespace halfstep::simulation
