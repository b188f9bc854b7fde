#pragma once

#include <cstdint>
#include <string>

#include "halfstep/frontends/tflite/builder.h"

/// Where TFLite's kernels round otherwise than QuantizeLinear, so that a whole share of the values
/// differs: nodes that make ONNX round alike. They carry kArithmeticKey, and targets do without.
/// Found by running each operator alone in LiteRT, with its default kernels (XNNPACK, else the
/// built-in ones).
namespace halfstep::tflite {

/// `value`, the mean of `count` codes with the encoding of result `slot` 0, is rounded with halves
/// away from code 0: sign(value - value of code 0) * scale / (4 * count) is added. As it is if
/// halves can't occur (odd count) or the result has no integers.
[[nodiscard]] std::string round_mean(Builder& b, const Operator& op, std::string value,
                                     std::int64_t count);

/// Halves are rounded up: scale / 2048 is added, less than the grid of interpolated codes.
[[nodiscard]] std::string round_up(Builder& b, const Operator& op, std::string value);

/// `value` is the product of codes and one constant. Its kernel multiplies by scale_a * scale_b /
/// scale_out, ONNX rounds on the way there: where that lets halves fall to the other side, the
/// product is moved by 2^-22 of itself.
[[nodiscard]] std::string settle_product(Builder& b, const Operator& op, std::string value);

/// How many axes of an operand get one scale together.
enum class DynamicRange : std::uint8_t { batch, row };

/// A float operand of an operator with integer weights: 8-bit codes for each batch or row,
///   scale = (max(x, 0) - min(x, 0)) / 255, zero point = round(-128 - min(x, 0) / scale),
/// and back. `channels` is the axis of a row.
[[nodiscard]] std::string quantize_dynamically(Builder& b, const std::string& value,
                                               std::size_t rank, DynamicRange range,
                                               std::int64_t channels);
/// Does the runtime compute `op` with integers, because operand `weights` is stored so and `x` is
/// float?
[[nodiscard]] bool is_dynamic_range(const Builder& b, const Operator& op, std::size_t x,
                                    std::size_t weights);

}  // namespace halfstep::tflite
