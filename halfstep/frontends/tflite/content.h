#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halfstep/frontends/tflite/file.h"

namespace halfstep::tflite {

/// The content of constants.

/// Integers as they are stored, sign extended. Errors: unsupported for float types.
[[nodiscard]] std::vector<std::int64_t> integer_values(const Tensor& tensor);
/// Real values: floats widened, quantized integers as (q - zero point) * scale.
[[nodiscard]] std::vector<float> float_values(const Tensor& tensor);
/// The same constant with another shape of as many elements, then its axes in this order (empty: as
/// they are). The axis of the scales moves along.
/// Errors: unsupported if a scale per axis has no axis in the new shape.
[[nodiscard]] Tensor rearranged(const Tensor& tensor, const Shape& shape,
                                const std::vector<std::int64_t>& order);
/// Can ONNX's DequantizeLinear say this constant, int64 narrowed to int32?
[[nodiscard]] bool fits_dequantize(const Tensor& tensor);
/// int64 as int32, everything else as it is.
[[nodiscard]] Tensor narrowed(const Tensor& tensor);
/// Integers as bytes of a type, packed below 8 bits.
[[nodiscard]] std::vector<std::byte> packed(const std::vector<std::int64_t>& values, Type type);
/// One number as bytes of a type.
[[nodiscard]] std::vector<std::byte> number_as(float value, Type type);

}  // namespace halfstep::tflite
