#include "halfstep/frontends/tflite/content.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "halfstep/core/half.h"
#include "halfstep/support/error.h"

namespace halfstep::tflite {
namespace {

template <class T>
void widen(Bytes data, std::vector<std::int64_t>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<std::int64_t>(value);
  }
}

// Two elements in a byte, the first one in its low half.
void widen_nibbles(Bytes data, bool is_signed, std::vector<std::int64_t>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int byte = std::to_integer<int>(data[i / 2]);
    const int nibble = (i % 2 == 0 ? byte : byte >> 4) & 15;
    values[i] = is_signed && nibble > 7 ? nibble - 16 : nibble;
  }
}

std::vector<std::byte> permute(Bytes data, const Shape& from,
                               const std::vector<std::int64_t>& order, std::size_t element) {
  const std::size_t rank = from.size();
  std::vector<std::int64_t> stride(rank, 1);
  for (std::size_t k = rank - 1; k > 0; --k) {
    stride[k - 1] = stride[k] * from[k];
  }
  std::vector<std::byte> result(data.size());
  std::vector<std::int64_t> at(rank, 0);
  std::int64_t source = 0;
  for (std::size_t written = 0; written < result.size(); written += element) {
    std::memcpy(result.data() + written, data.data() + static_cast<std::size_t>(source) * element,
                element);
    for (std::size_t k = rank; k-- > 0;) {
      const auto axis = static_cast<std::size_t>(order[k]);
      source += stride[axis];
      if (++at[k] < from[axis]) {
        break;
      }
      source -= stride[axis] * from[axis];
      at[k] = 0;
    }
  }
  return result;
}

/// The axis of `to` that has the elements of `axis` of `from`.
std::int64_t axis_after_reshape(const Tensor& tensor, const Shape& to) {
  const auto axis = static_cast<std::size_t>(tensor.axis);
  const auto product = [](auto begin, auto end) {
    std::int64_t result = 1;
    for (; begin != end; ++begin) {
      result *= *begin;
    }
    return result;
  };
  const auto split = tensor.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const std::int64_t before = product(tensor.shape.begin(), split);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == tensor.shape[axis] &&
        product(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(i)) == before) {
      return static_cast<std::int64_t>(i);
    }
  }
  throw Error(ErrorKind::unsupported,
              "tensor '" + tensor.name + "': has a scale for each channel and loses its channels");
}

}  // namespace

std::vector<std::int64_t> integer_values(const Tensor& tensor) {
  const auto size = static_cast<std::size_t>(count(tensor.shape));
  if (size > 2 * tensor.data.size()) {  // two nibbles a byte; other types' contents are not checked
    throw Error(ErrorKind::unsupported, "tensor '" + tensor.name + "': holds no " +
                                            std::to_string(size) + " integers, expected them");
  }
  std::vector<std::int64_t> values(size);
  switch (tensor.type) {
    case Type::int64:
    case Type::uint64:
      widen<std::int64_t>(tensor.data, values);
      break;
    case Type::int32:
      widen<std::int32_t>(tensor.data, values);
      break;
    case Type::uint32:
      widen<std::uint32_t>(tensor.data, values);
      break;
    case Type::int16:
      widen<std::int16_t>(tensor.data, values);
      break;
    case Type::uint16:
      widen<std::uint16_t>(tensor.data, values);
      break;
    case Type::int8:
      widen<std::int8_t>(tensor.data, values);
      break;
    case Type::uint8:
    case Type::boolean:
      widen<std::uint8_t>(tensor.data, values);
      break;
    case Type::int4:
      widen_nibbles(tensor.data, true, values);
      break;
    case Type::uint4:
      widen_nibbles(tensor.data, false, values);
      break;
    default:
      throw Error(ErrorKind::unsupported,
                  "tensor '" + tensor.name + "': holds no integers, expected some");
  }
  return values;
}

std::vector<float> float_values(const Tensor& tensor) {
  const auto size = static_cast<std::size_t>(count(tensor.shape));
  std::vector<float> values(size);
  if (tensor.type == Type::float32) {
    if (size > 0) {
      std::memcpy(values.data(), tensor.data.data(), size * sizeof(float));
    }
    return values;
  }
  if (tensor.type == Type::float16 || tensor.type == Type::bfloat16) {
    for (std::size_t i = 0; i < size; ++i) {
      std::uint16_t code = 0;
      std::memcpy(&code, tensor.data.data() + 2 * i, 2);
      values[i] = tensor.type == Type::float16 ? to_float(Float16{code})
                                               : std::bit_cast<float>(std::uint32_t{code} << 16U);
    }
    return values;
  }
  if (tensor.type == Type::float64) {
    for (std::size_t i = 0; i < size; ++i) {
      double value = 0;
      std::memcpy(&value, tensor.data.data() + 8 * i, 8);
      values[i] = static_cast<float>(value);
    }
    return values;
  }
  const std::vector<std::int64_t> integers = integer_values(tensor);
  std::size_t inner = 1;
  if (tensor.scale.size() > 1) {
    for (auto k = static_cast<std::size_t>(tensor.axis) + 1; k < tensor.shape.size(); ++k) {
      inner *= static_cast<std::size_t>(tensor.shape[k]);
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t unit = tensor.scale.size() > 1 ? i / inner % tensor.scale.size() : 0;
    const double scale = tensor.scale.empty() ? 1.0 : static_cast<double>(tensor.scale[unit]);
    const std::int64_t zero = tensor.zero_point.empty() ? 0 : tensor.zero_point[unit];
    values[i] =
        static_cast<float>((static_cast<double>(integers[i]) - static_cast<double>(zero)) * scale);
  }
  return values;
}

Tensor rearranged(const Tensor& tensor, const Shape& shape,
                  const std::vector<std::int64_t>& order) {
  Tensor result = tensor;
  if (count(shape) != count(tensor.shape)) {
    damaged("constant '" + tensor.name + "' does not fit the shape that its reader needs");
  }
  if (tensor.scale.size() > 1 && shape != tensor.shape) {
    result.axis = axis_after_reshape(tensor, shape);
  }
  result.shape = shape;
  if (order.empty()) {
    return result;
  }
  if (order.size() != shape.size()) {
    damaged("constant '" + tensor.name + "' has " + std::to_string(shape.size()) +
            " axes, its reader needs " + std::to_string(order.size()));
  }
  std::vector<std::byte> content;
  if (bits(tensor.type) < 8) {
    std::vector<std::byte> bytes;
    for (const std::int64_t value : integer_values(tensor)) {
      bytes.push_back(static_cast<std::byte>(value));
    }
    const std::vector<std::byte> moved = permute(bytes, shape, order, 1);
    std::vector<std::int64_t> values;
    for (const std::byte value : moved) {
      values.push_back(std::to_integer<int>(value));
    }
    content = packed(values, tensor.type);
  } else {
    content = permute(tensor.data, shape, order, static_cast<std::size_t>(bits(tensor.type) / 8));
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    result.shape[k] = shape[static_cast<std::size_t>(order[k])];
  }
  if (tensor.scale.size() > 1) {
    const auto moved = std::find(order.begin(), order.end(), result.axis);
    result.axis = moved - order.begin();
  }
  result.owner = std::make_shared<const std::vector<std::byte>>(std::move(content));
  result.data = *result.owner;
  return result;
}

bool fits_dequantize(const Tensor& tensor) {
  const bool zero = std::all_of(tensor.zero_point.begin(), tensor.zero_point.end(),
                                [](std::int64_t value) { return value == 0; });
  if (tensor.type == Type::int64) {
    using Limits = std::numeric_limits<std::int32_t>;
    const auto values = integer_values(tensor);
    return zero && std::all_of(values.begin(), values.end(), [](std::int64_t value) {
             return value >= Limits::min() && value <= Limits::max();
           });
  }
  return tensor.type == Type::int32 ? zero : is_integer(tensor.type);
}

Tensor narrowed(const Tensor& tensor) {
  if (tensor.type != Type::int64) {
    return tensor;
  }
  Tensor result = tensor;
  result.type = Type::int32;
  result.owner =
      std::make_shared<const std::vector<std::byte>>(packed(integer_values(tensor), Type::int32));
  result.data = *result.owner;
  return result;
}

std::vector<std::byte> packed(const std::vector<std::int64_t>& values, Type type) {
  const auto width = static_cast<std::size_t>(bits(type));
  std::vector<std::byte> bytes((values.size() * width + 7) / 8, std::byte{0});
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (width < 8) {
      const auto nibble = static_cast<unsigned>(values[i]) & 15U;
      bytes[i / 2] |= static_cast<std::byte>(i % 2 == 0 ? nibble : nibble << 4U);
    } else {
      std::memcpy(bytes.data() + i * width / 8, &values[i], width / 8);
    }
  }
  return bytes;
}

std::vector<std::byte> number_as(float value, Type type) {
  if (type == Type::float32) {
    std::vector<std::byte> bytes(sizeof(float));
    std::memcpy(bytes.data(), &value, sizeof(float));
    return bytes;
  }
  if (is_float(type)) {
    throw Error(ErrorKind::unsupported, "computes in a float type that is not float32");
  }
  return packed({static_cast<std::int64_t>(value)}, type);
}

}  // namespace halfstep::tflite
