#include "halfstep/core/dtype.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr auto kSigned = DtypeClass::signed_integer;
constexpr auto kUnsigned = DtypeClass::unsigned_integer;
constexpr auto kFloating = DtypeClass::floating;

// Rows in the order of the enumeration. `onnx` is TensorProto.DataType.
constexpr std::array<DtypeInfo, 33> kDtypes = {{
    {Dtype::int1, "int1", kSigned, 1, -1, 0, 0},
    {Dtype::int2, "int2", kSigned, 2, -2, 1, 26},
    {Dtype::int3, "int3", kSigned, 3, -4, 3, 0},
    {Dtype::int4, "int4", kSigned, 4, -8, 7, 22},
    {Dtype::int5, "int5", kSigned, 5, -16, 15, 0},
    {Dtype::int6, "int6", kSigned, 6, -32, 31, 0},
    {Dtype::int7, "int7", kSigned, 7, -64, 63, 0},
    {Dtype::int8, "int8", kSigned, 8, -128, 127, 3},
    {Dtype::uint1, "uint1", kUnsigned, 1, 0, 1, 0},
    {Dtype::uint2, "uint2", kUnsigned, 2, 0, 3, 25},
    {Dtype::uint3, "uint3", kUnsigned, 3, 0, 7, 0},
    {Dtype::uint4, "uint4", kUnsigned, 4, 0, 15, 21},
    {Dtype::uint5, "uint5", kUnsigned, 5, 0, 31, 0},
    {Dtype::uint6, "uint6", kUnsigned, 6, 0, 63, 0},
    {Dtype::uint7, "uint7", kUnsigned, 7, 0, 127, 0},
    {Dtype::uint8, "uint8", kUnsigned, 8, 0, 255, 2},
    {Dtype::int16, "int16", kSigned, 16, -32768, 32767, 5},
    {Dtype::uint16, "uint16", kUnsigned, 16, 0, 65535, 4},
    {Dtype::int32, "int32", kSigned, 32, -2147483648.0, 2147483647.0, 6},
    {Dtype::uint32, "uint32", kUnsigned, 32, 0, 4294967295.0, 12},
    {Dtype::int64, "int64", kSigned, 64, -0x1p63, 0x1p63, 7},
    {Dtype::boolean, "bool", DtypeClass::boolean, 8, 0, 1, 9},
    {Dtype::float16, "float16", kFloating, 16, -65504, 65504, 10},
    {Dtype::bfloat16, "bfloat16", kFloating, 16, -0x1.fep127, 0x1.fep127, 16},
    {Dtype::float32, "float32", kFloating, 32, -0x1.fffffep127, 0x1.fffffep127, 1},
    {Dtype::float64, "float64", kFloating, 64, -0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, 11},
    {Dtype::float8_e4m3fn, "float8_e4m3fn", kFloating, 8, -448, 448, 17},
    {Dtype::float8_e5m2, "float8_e5m2", kFloating, 8, -57344, 57344, 19},
    {Dtype::float4_e2m1fn_x2, "float4_e2m1fn_x2", kFloating, 4, -6, 6, 23},
    {Dtype::float8_e8m0fnu, "float8_e8m0fnu", kFloating, 8, 0x1p-127, 0x1p127, 24},
    {Dtype::uint64, "uint64", kUnsigned, 64, 0, 0x1p64, 13},
    {Dtype::float8_e4m3fnuz, "float8_e4m3fnuz", kFloating, 8, -240, 240, 18},
    {Dtype::float8_e5m2fnuz, "float8_e5m2fnuz", kFloating, 8, -57344, 57344, 20},
}};

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t i = 0; i < kDtypes.size(); ++i) {
    if (static_cast<std::size_t>(kDtypes[i].dtype) != i) {
      return false;
    }
  }
  return true;
}
static_assert(rows_follow_the_enumeration());

constexpr std::array<std::pair<std::string_view, Dtype>, 3> kAliases = {{
    {"float4_e2m1fn", Dtype::float4_e2m1fn_x2},
    {"float8_e4m3", Dtype::float8_e4m3fn},
    {"float8_e8m0", Dtype::float8_e8m0fnu},
}};

}  // namespace

const DtypeInfo& info(Dtype dtype) noexcept { return kDtypes[static_cast<std::size_t>(dtype)]; }
std::span<const DtypeInfo> dtypes() noexcept { return kDtypes; }

bool is_integer(Dtype dtype) noexcept {
  return is_signed_integer(dtype) || is_unsigned_integer(dtype);
}
bool is_signed_integer(Dtype dtype) noexcept { return info(dtype).category == kSigned; }
bool is_unsigned_integer(Dtype dtype) noexcept { return info(dtype).category == kUnsigned; }
bool is_floating(Dtype dtype) noexcept { return info(dtype).category == kFloating; }

std::size_t storage_size(Dtype dtype) noexcept {
  return static_cast<std::size_t>(std::max(bits(dtype) / 8, 1));
}

std::optional<Dtype> find_dtype(std::string_view name) noexcept {
  for (const DtypeInfo& row : kDtypes) {
    if (row.name == name) {
      return row.dtype;
    }
  }
  for (const auto& [alias, dtype] : kAliases) {
    if (alias == name) {
      return dtype;
    }
  }
  return std::nullopt;
}

Dtype parse_dtype(std::string_view name) {
  if (const std::optional<Dtype> dtype = find_dtype(name)) {
    return *dtype;
  }
  std::vector<std::string> names;
  for (const DtypeInfo& row : kDtypes) {
    names.emplace_back(row.name);
  }
  const std::string closest = closest_match(name, names);
  std::string message = "unknown dtype \"" + std::string(name) + "\"";
  message += closest.empty() ? "; expected a name such as \"int8\", \"uint4\" or \"float8_e4m3fn\""
                             : "; did you mean \"" + closest + "\"?";
  throw Error(ErrorKind::invalid_argument, message);
}

Dtype get_target_dtype(Dtype dtype) {
  const int width = get_n_bits_from_dtype(dtype);
  if (is_integer(dtype) && width <= 8) {
    return is_signed_integer(dtype) ? Dtype::int8 : Dtype::uint8;
  }
  return dtype == Dtype::float4_e2m1fn_x2 ? Dtype::float8_e4m3fn : dtype;
}

int get_n_bits_from_dtype(Dtype dtype) {
  if (dtype == Dtype::boolean) {
    throw Error(ErrorKind::unsupported, "dtype \"bool\" has no number of bits; use \"uint1\"");
  }
  return bits(dtype);
}

std::optional<Dtype> dtype_from_onnx(int data_type) noexcept {
  for (const DtypeInfo& row : kDtypes) {
    if (row.onnx == data_type && data_type != 0) {
      return row.dtype;
    }
  }
  return std::nullopt;
}

}  // namespace halfstep
