#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace halfstep {

/// Bits of one element of a TensorProto.DataType; 0 for string, undefined and unknown types.
[[nodiscard]] int element_bits(int data_type) noexcept;
/// Types in which networks compute: float32, float16, bfloat16, float64.
[[nodiscard]] bool is_float_type(int data_type) noexcept;
/// "float", "int8": the name ONNX gives a data type; "type 99" if it has none.
[[nodiscard]] std::string element_type_name(int data_type);
/// Bytes of the values as raw_data stores them, packed below 8 bits. Empty if the type has no fixed
/// size, an extent is negative or the product does not fit.
[[nodiscard]] std::optional<std::uint64_t> byte_size(const onnx::TensorProto& tensor) noexcept;
/// "tensor 'w' (float [64, 3, 7, 7])"
[[nodiscard]] std::string describe(const onnx::TensorProto& tensor);

/// The values of the typed fields (float_data, int32_data, ...) in the form of raw_data.
/// Errors: invalid_file if their number does not fit the shape.
[[nodiscard]] std::vector<std::byte> typed_fields_as_bytes(const onnx::TensorProto& tensor);

/// `values` as raw_data of a type for which is_float_type holds: rounded to nearest, ties to even.
/// Errors: unsupported for other types.
[[nodiscard]] std::vector<std::byte> floats_as_bytes(std::span<const float> values, int data_type);

/// Numbers of any type as float32, from the bytes of raw_data.
/// Errors: unsupported for strings and complex numbers.
[[nodiscard]] std::vector<float> bytes_as_floats(const onnx::TensorProto& tensor,
                                                 std::span<const std::byte> bytes);

}  // namespace halfstep
