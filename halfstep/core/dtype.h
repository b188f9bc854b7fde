#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace halfstep {

/// Every number format halfstep knows. One row of the table in dtype.cpp each.
enum class Dtype : std::uint8_t {
  int1,
  int2,
  int3,
  int4,
  int5,
  int6,
  int7,
  int8,
  uint1,
  uint2,
  uint3,
  uint4,
  uint5,
  uint6,
  uint7,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  boolean,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3fn,
  float8_e5m2,
  float4_e2m1fn_x2,
  float8_e8m0fnu,
  uint64,
  float8_e4m3fnuz,
  float8_e5m2fnuz,  // known by name; nothing is quantized to them
};

enum class DtypeClass : std::uint8_t { signed_integer, unsigned_integer, floating, boolean };

struct DtypeInfo {
  Dtype dtype;
  std::string_view name;  ///< canonical, as printed and serialized: "int8", "float8_e4m3fn"
  DtypeClass category;
  int bits;                ///< 1 to 64; float4_e2m1fn_x2 is 4
  double lowest, highest;  ///< finite range of the format
  int onnx;                ///< TensorProto.DataType, 0 if ONNX has none
};

[[nodiscard]] const DtypeInfo& info(Dtype dtype) noexcept;
[[nodiscard]] std::span<const DtypeInfo> dtypes() noexcept;
[[nodiscard]] inline std::string_view name(Dtype dtype) noexcept { return info(dtype).name; }
[[nodiscard]] inline int bits(Dtype dtype) noexcept { return info(dtype).bits; }
[[nodiscard]] bool is_integer(Dtype dtype) noexcept;
[[nodiscard]] bool is_signed_integer(Dtype dtype) noexcept;
[[nodiscard]] bool is_unsigned_integer(Dtype dtype) noexcept;
[[nodiscard]] bool is_floating(Dtype dtype) noexcept;

/// Bytes of one element when every element has its own byte(s): 1 below 8 bits, else bits / 8.
[[nodiscard]] std::size_t storage_size(Dtype dtype) noexcept;

/// Exact, case sensitive; the aliases float4_e2m1fn, float8_e4m3, float8_e8m0 are known. Empty if
/// unknown.
[[nodiscard]] std::optional<Dtype> find_dtype(std::string_view name) noexcept;
/// Errors: invalid_argument naming the text and the closest name.
[[nodiscard]] Dtype parse_dtype(std::string_view name);
/// The type of one element of a stored tensor: integers of up to 8 bits in int8 or uint8,
/// float4_e2m1fn_x2 in float8_e4m3fn (it holds every value), others as they are.
/// Errors: unsupported for boolean, which has no number of bits.
/// Source: coreai_opt QuantizationSpec.get_target_dtype
[[nodiscard]] Dtype get_target_dtype(Dtype dtype);
/// Errors: unsupported for boolean.
/// Source: coreai_opt QuantizationSpec.get_n_bits_from_dtype
[[nodiscard]] int get_n_bits_from_dtype(Dtype dtype);

/// By TensorProto.DataType. Empty if halfstep has no such format (string, complex, ...).
[[nodiscard]] std::optional<Dtype> dtype_from_onnx(int data_type) noexcept;

}  // namespace halfstep
