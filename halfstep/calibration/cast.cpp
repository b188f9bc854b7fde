#include "halfstep/calibration/cast.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "halfstep/core/half.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

double to_double(Float16 x) { return to_float(x); }
double to_double(BFloat16 x) { return to_float(x); }
template <typename T>
double to_double(T x) {
  return static_cast<double>(x);
}

void from_double(double x, Float16& to) { to = to_float16(static_cast<float>(x)); }
void from_double(double x, BFloat16& to) { to = to_bfloat16(static_cast<float>(x)); }
template <typename T>
void from_double(double x, T& to) {
  to = static_cast<T>(x);
}

/// Calls `action` with a value of the C++ type that stores `dtype`.
template <typename Action>
void with_type(Dtype dtype, Action action) {
  switch (dtype) {
    case Dtype::float16:
      return action(Float16{});
    case Dtype::bfloat16:
      return action(BFloat16{});
    case Dtype::float32:
      return action(float{});
    case Dtype::float64:
      return action(double{});
    case Dtype::int8:
      return action(std::int8_t{});
    case Dtype::int16:
      return action(std::int16_t{});
    case Dtype::int32:
      return action(std::int32_t{});
    case Dtype::int64:
      return action(std::int64_t{});
    case Dtype::uint8:
    case Dtype::boolean:
      return action(std::uint8_t{});
    case Dtype::uint16:
      return action(std::uint16_t{});
    case Dtype::uint32:
      return action(std::uint32_t{});
    default:
      throw Error(ErrorKind::unsupported,
                  "values can't be converted from or to " + std::string(name(dtype)));
  }
}

bool fits(double value, const DtypeInfo& to) {
  if (to.category == DtypeClass::floating) {
    return true;
  }
  // 2^63 is the first double beyond int64.
  const bool below_end = to.bits == 64 ? value < 0x1p63 : value <= to.highest;
  return value == std::floor(value) && value >= to.lowest && below_end;
}

template <typename From, typename To>
void convert(const Tensor& tensor, const DtypeInfo& to, std::byte* result) {
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  for (std::size_t i = 0; i < count; ++i) {
    From from{};
    std::memcpy(&from, tensor.data + i * sizeof(From), sizeof(From));
    const double value = to_double(from);
    if (!fits(value, to)) {
      throw Error(ErrorKind::invalid_file, "value " + std::to_string(value) + " at position " +
                                               std::to_string(i) + " is not a value of " +
                                               std::string(to.name));
    }
    To converted{};
    from_double(value, converted);
    std::memcpy(result + i * sizeof(To), &converted, sizeof(To));
  }
}

bool is_nan(Float16 x) { return (x.bits & 0x7FFF) > 0x7C00; }
bool is_nan(BFloat16 x) { return (x.bits & 0x7FFF) > 0x7F80; }
bool is_nan(float x) { return x != x; }
bool is_nan(double x) { return x != x; }

template <typename T>
std::int64_t first_nan(const Tensor& tensor) {
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  constexpr std::size_t kBlock = 4096;
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t end = std::min(count, start + kBlock);
    bool found = false;
    // Without an early exit, so that the loop is vectorized.
    for (std::size_t i = start; i < end; ++i) {
      T value{};
      std::memcpy(&value, tensor.data + i * sizeof(T), sizeof(T));
      found |= is_nan(value);
    }
    for (std::size_t i = start; found && i < end; ++i) {
      T value{};
      std::memcpy(&value, tensor.data + i * sizeof(T), sizeof(T));
      if (is_nan(value)) {
        return static_cast<std::int64_t>(i);
      }
    }
  }
  return -1;
}

}  // namespace

Tensor cast_tensor(const Tensor& tensor, Dtype to) {
  Tensor target{.dtype = to, .shape = tensor.shape};
  std::vector<std::byte> bytes(target.bytes());
  with_type(tensor.dtype, [&](auto from) {
    with_type(to, [&](auto into) {
      convert<decltype(from), decltype(into)>(tensor, info(to), bytes.data());
    });
  });
  return make_tensor(to, tensor.shape, std::move(bytes));
}

std::int64_t find_nan(const Tensor& tensor) {
  switch (tensor.dtype) {
    case Dtype::float32:
      return first_nan<float>(tensor);
    case Dtype::float64:
      return first_nan<double>(tensor);
    case Dtype::float16:
      return first_nan<Float16>(tensor);
    case Dtype::bfloat16:
      return first_nan<BFloat16>(tensor);
    default:
      return -1;
  }
}

}  // namespace halfstep
