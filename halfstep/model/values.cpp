#include "halfstep/model/values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/half.h"
#include "halfstep/model/model.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using onnx::TensorProto;

static_assert(std::endian::native == std::endian::little, "raw_data is used as it is stored");

enum class Form : std::uint8_t { none, signed_integer, unsigned_integer, floating, complex };

// A float format as its exponent and mantissa widths and what its largest codes mean.
enum class Special : std::uint8_t { ieee, nan_at_end, nan_at_minus_zero, none, exponent_only };

struct ElementType {
  int data_type;
  std::string_view name;
  unsigned bits;
  Form form;
  unsigned exponent_bits = 0;
  Special special = Special::none;
};

// NOLINTBEGIN(modernize-use-designated-initializers): the rows of a table
constexpr auto kTypes = std::to_array<ElementType>({
    {TensorProto::FLOAT, "float", 32, Form::floating},
    {TensorProto::UINT8, "uint8", 8, Form::unsigned_integer},
    {TensorProto::INT8, "int8", 8, Form::signed_integer},
    {TensorProto::UINT16, "uint16", 16, Form::unsigned_integer},
    {TensorProto::INT16, "int16", 16, Form::signed_integer},
    {TensorProto::INT32, "int32", 32, Form::signed_integer},
    {TensorProto::INT64, "int64", 64, Form::signed_integer},
    {TensorProto::STRING, "string", 0, Form::none},
    {TensorProto::BOOL, "bool", 8, Form::unsigned_integer},
    {TensorProto::FLOAT16, "float16", 16, Form::floating, 5, Special::ieee},
    {TensorProto::DOUBLE, "double", 64, Form::floating},
    {TensorProto::UINT32, "uint32", 32, Form::unsigned_integer},
    {TensorProto::UINT64, "uint64", 64, Form::unsigned_integer},
    {TensorProto::COMPLEX64, "complex64", 64, Form::complex},
    {TensorProto::COMPLEX128, "complex128", 128, Form::complex},
    {TensorProto::BFLOAT16, "bfloat16", 16, Form::floating, 8, Special::ieee},
    {TensorProto::FLOAT8E4M3FN, "float8e4m3fn", 8, Form::floating, 4, Special::nan_at_end},
    {TensorProto::FLOAT8E4M3FNUZ, "float8e4m3fnuz", 8, Form::floating, 4,
     Special::nan_at_minus_zero},
    {TensorProto::FLOAT8E5M2, "float8e5m2", 8, Form::floating, 5, Special::ieee},
    {TensorProto::FLOAT8E5M2FNUZ, "float8e5m2fnuz", 8, Form::floating, 5,
     Special::nan_at_minus_zero},
    {TensorProto::UINT4, "uint4", 4, Form::unsigned_integer},
    {TensorProto::INT4, "int4", 4, Form::signed_integer},
    {TensorProto::FLOAT4E2M1, "float4e2m1", 4, Form::floating, 2, Special::none},
    {TensorProto::FLOAT8E8M0, "float8e8m0", 8, Form::floating, 8, Special::exponent_only},
    {TensorProto::UINT2, "uint2", 2, Form::unsigned_integer},
    {TensorProto::INT2, "int2", 2, Form::signed_integer},
    {TensorProto::FLOAT6E2M3, "float6e2m3", 6, Form::floating, 2, Special::none},
    {TensorProto::FLOAT6E3M2, "float6e3m2", 6, Form::floating, 3, Special::none},
});
// NOLINTEND(modernize-use-designated-initializers)

const ElementType* find_type(int data_type) noexcept {
  for (const ElementType& type : kTypes) {
    if (type.data_type == data_type) {
      return &type;
    }
  }
  return nullptr;
}

float decode_small_float(std::uint32_t code, const ElementType& type) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (type.special == Special::exponent_only) {
    return code == 255 ? kNan : std::ldexp(1.0F, static_cast<int>(code) - 127);
  }
  const unsigned mantissa_bits = type.bits - 1 - type.exponent_bits;
  const bool negative = (code >> (type.bits - 1)) != 0;
  const std::uint32_t largest = (1U << (type.bits - 1)) - 1U;
  const std::uint32_t magnitude = code & largest;
  const std::uint32_t exponent = magnitude >> mantissa_bits;
  const std::uint32_t mantissa = magnitude & ((1U << mantissa_bits) - 1U);
  if ((type.special == Special::nan_at_minus_zero && negative && magnitude == 0) ||
      (type.special == Special::nan_at_end && magnitude == largest)) {
    return kNan;
  }
  if (type.special == Special::ieee && exponent == (1U << type.exponent_bits) - 1U) {
    const float infinity = std::numeric_limits<float>::infinity();
    return mantissa != 0 ? kNan : (negative ? -infinity : infinity);
  }
  const std::uint32_t bias =
      (1U << (type.exponent_bits - 1)) - (type.special == Special::nan_at_minus_zero ? 0U : 1U);
  const std::uint32_t hidden = exponent == 0 ? 0U : 1U << mantissa_bits;
  const int power =
      static_cast<int>(std::max(exponent, 1U)) - static_cast<int>(bias + mantissa_bits);
  const float value = std::ldexp(static_cast<float>(mantissa + hidden), power);
  return negative ? -value : value;
}

float decode_small(std::uint32_t code, const ElementType& type) {
  if (type.form == Form::floating) {
    return decode_small_float(code, type);
  }
  const bool negative = type.form == Form::signed_integer && (code >> (type.bits - 1)) != 0;
  const float codes = static_cast<float>(std::uint32_t{1} << type.bits);
  return static_cast<float>(code) - (negative ? codes : 0.0F);
}

// The code of element `index`; formats below 8 bits are one stream of bits, lowest bit first.
std::uint32_t code_at(std::span<const std::byte> bytes, std::size_t index, unsigned bits) {
  const std::size_t first_bit = index * bits;
  std::uint32_t window = 0;
  for (std::size_t i = 0; i < 3 && first_bit / 8 + i < bytes.size(); ++i) {
    window |= std::to_integer<std::uint32_t>(bytes[first_bit / 8 + i]) << (8 * i);
  }
  return (window >> (first_bit % 8)) & ((1U << bits) - 1U);
}

std::vector<float> small_as_floats(std::span<const std::byte> bytes, std::size_t count,
                                   const ElementType& type) {
  std::vector<float> values(count);
  const std::size_t codes = std::size_t{1} << type.bits;
  std::vector<float> table;  // worth its cost for large tensors only
  if (count > codes) {
    for (std::uint32_t code = 0; code < codes; ++code) {
      table.push_back(decode_small(code, type));
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t code = code_at(bytes, i, type.bits);
    values[i] = table.empty() ? decode_small(code, type) : table[code];
  }
  return values;
}

template <typename T>
std::vector<float> wide_as_floats(std::span<const std::byte> bytes, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value{};
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(value);
  }
  return values;
}

// One stored value for each entry of a typed field, `stored` bytes each.
template <typename Field>
std::vector<std::byte> entries_as_bytes(const Field& field, std::size_t stored) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(field.size()) * stored);
  std::size_t at = 0;
  for (const auto value : field) {
    std::memcpy(bytes.data() + at, &value, stored);
    at += stored;
  }
  return bytes;
}

// Six bits an element: in int32_data one element an entry, in raw_data one stream of bits.
std::vector<std::byte> pack_six_bits(const google::protobuf::RepeatedField<std::int32_t>& field) {
  std::vector<std::byte> bytes((static_cast<std::size_t>(field.size()) * 6 + 7) / 8);
  std::size_t bit = 0;
  for (const std::int32_t value : field) {
    const auto shifted = (static_cast<std::uint32_t>(value) & 63U) << (bit % 8);
    bytes[bit / 8] |= static_cast<std::byte>(shifted & 255U);
    if (bit % 8 > 2) {
      bytes[bit / 8 + 1] |= static_cast<std::byte>(shifted >> 8U);
    }
    bit += 6;
  }
  return bytes;
}

std::vector<std::byte> fields_as_bytes(const TensorProto& tensor) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
    case TensorProto::COMPLEX64:
      return entries_as_bytes(tensor.float_data(), sizeof(float));
    case TensorProto::DOUBLE:
    case TensorProto::COMPLEX128:
      return entries_as_bytes(tensor.double_data(), sizeof(double));
    case TensorProto::INT64:
      return entries_as_bytes(tensor.int64_data(), sizeof(std::int64_t));
    case TensorProto::UINT32:
      return entries_as_bytes(tensor.uint64_data(), sizeof(std::uint32_t));
    case TensorProto::UINT64:
      return entries_as_bytes(tensor.uint64_data(), sizeof(std::uint64_t));
    case TensorProto::FLOAT6E2M3:
    case TensorProto::FLOAT6E3M2:
      return pack_six_bits(tensor.int32_data());
    default: {
      // 4-bit and 2-bit types: one packed byte an entry.
      const auto bits = static_cast<std::size_t>(element_bits(tensor.data_type()));
      return entries_as_bytes(tensor.int32_data(), std::max<std::size_t>(bits / 8, 1));
    }
  }
}

template <typename T>
std::vector<std::byte> floats_as(std::span<const float> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = from_float<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

}  // namespace

int element_bits(int data_type) noexcept {
  const ElementType* type = find_type(data_type);
  return type == nullptr ? 0 : static_cast<int>(type->bits);
}

std::string element_type_name(int data_type) {
  const ElementType* type = find_type(data_type);
  return type == nullptr ? "type " + std::to_string(data_type) : std::string(type->name);
}

std::optional<std::uint64_t> byte_size(const TensorProto& tensor) noexcept {
  const auto bits = static_cast<std::uint64_t>(element_bits(tensor.data_type()));
  std::uint64_t total = bits;
  for (const std::int64_t extent : tensor.dims()) {
    if (extent < 0 || (extent > 0 && total > std::numeric_limits<std::uint64_t>::max() / 2 /
                                                 static_cast<std::uint64_t>(extent))) {
      return std::nullopt;
    }
    total *= static_cast<std::uint64_t>(extent);
  }
  return bits == 0 ? std::nullopt : std::optional((total + 7) / 8);
}

bool is_float_type(int data_type) noexcept {
  return data_type == TensorProto::FLOAT || data_type == TensorProto::FLOAT16 ||
         data_type == TensorProto::BFLOAT16 || data_type == TensorProto::DOUBLE;
}

std::string describe(const TensorProto& tensor) {
  return "tensor '" + tensor.name() + "' (" + element_type_name(tensor.data_type()) + " " +
         to_text(shape_of(tensor)) + ")";
}

std::vector<std::byte> typed_fields_as_bytes(const TensorProto& tensor) {
  const std::optional<std::uint64_t> expected = byte_size(tensor);
  std::vector<std::byte> bytes = fields_as_bytes(tensor);
  if (!expected || bytes.size() != *expected) {
    throw Error(ErrorKind::invalid_file,
                describe(tensor) + ": its typed data holds " + std::to_string(bytes.size()) +
                    " bytes, expected " +
                    (expected ? std::to_string(*expected) : "a type of fixed size"));
  }
  return bytes;
}

std::vector<std::byte> floats_as_bytes(std::span<const float> values, int data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
      return floats_as<float>(values);
    case TensorProto::FLOAT16:
      return floats_as<Float16>(values);
    case TensorProto::BFLOAT16:
      return floats_as<BFloat16>(values);
    case TensorProto::DOUBLE:
      return floats_as<double>(values);
    default:
      throw Error(ErrorKind::unsupported, "can't store floats as " + element_type_name(data_type));
  }
}

std::vector<float> bytes_as_floats(const TensorProto& tensor, std::span<const std::byte> bytes) {
  const ElementType* type = find_type(tensor.data_type());
  if (type == nullptr || type->form == Form::none || type->form == Form::complex) {
    throw Error(ErrorKind::unsupported, describe(tensor) +
                                            ": values of this type are no numbers that "
                                            "can be converted to float");
  }
  const auto count = static_cast<std::size_t>(element_count(shape_of(tensor)));
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return wide_as_floats<float>(bytes, count);
    case TensorProto::DOUBLE:
      return wide_as_floats<double>(bytes, count);
    case TensorProto::INT32:
      return wide_as_floats<std::int32_t>(bytes, count);
    case TensorProto::UINT32:
      return wide_as_floats<std::uint32_t>(bytes, count);
    case TensorProto::INT64:
      return wide_as_floats<std::int64_t>(bytes, count);
    case TensorProto::UINT64:
      return wide_as_floats<std::uint64_t>(bytes, count);
    default:
      return small_as_floats(bytes, count, *type);
  }
}

}  // namespace halfstep
