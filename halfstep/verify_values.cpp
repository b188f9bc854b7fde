#include "halfstep/verify_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "halfstep/calibration/cast.h"
#include "halfstep/core/half.h"
#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/outputs/qnn/constant_data.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using qnn::DataType;
using Kind = qnn::Quantization::Kind;

[[noreturn]] void refuse_type(const qnn::Tensor& tensor, const std::string& why) {
  throw Error(ErrorKind::unsupported, "tensor \"" + tensor.name + "\" of type " +
                                          std::string(qnn::name_of(tensor.type)) + ": " + why);
}

bool has_one_scale(const qnn::Tensor& tensor) {
  const qnn::Quantization& q = tensor.quantization;
  return (q.kind == Kind::per_tensor || q.kind == Kind::per_tensor_bits) && q.scales.size() == 1 &&
         q.offsets.size() == 1;
}

template <typename Stored>
Stored load(std::span<const std::byte> bytes, std::size_t i) {
  Stored value{};
  std::memcpy(&value, bytes.data() + i * sizeof(Stored), sizeof(Stored));
  return value;
}

/// Calls `use` with a value of the C++ type that stores `tensor`.
template <typename Use>
auto with_stored_type(const qnn::Tensor& tensor, const Use& use) {
  switch (tensor.type) {
    case DataType::int8:
    case DataType::sfixed8:
      return use(std::int8_t{});
    case DataType::int16:
    case DataType::sfixed16:
      return use(std::int16_t{});
    case DataType::int32:
    case DataType::sfixed32:
      return use(std::int32_t{});
    case DataType::int64:
      return use(std::int64_t{});
    case DataType::uint8:
    case DataType::ufixed8:
    case DataType::bool8:
      return use(std::uint8_t{});
    case DataType::uint16:
    case DataType::ufixed16:
      return use(std::uint16_t{});
    case DataType::uint32:
    case DataType::ufixed32:
      return use(std::uint32_t{});
    case DataType::float16:
      return use(Float16{});
    case DataType::bfloat16:
      return use(BFloat16{});
    case DataType::float32:
      return use(float{});
  }
  refuse_type(tensor, "an unknown type");
}

bool is_fixed(DataType type) {
  switch (type) {
    case DataType::sfixed8:
    case DataType::sfixed16:
    case DataType::sfixed32:
    case DataType::ufixed8:
    case DataType::ufixed16:
    case DataType::ufixed32:
      return true;
    default:
      return false;
  }
}

template <typename Stored>
std::vector<float> decode(const qnn::Tensor& tensor, std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(Stored));
  if constexpr (std::is_integral_v<Stored>) {
    const bool scaled = is_fixed(tensor.type);
    const float scale = scaled ? tensor.quantization.scales[0] : 1.0F;
    const std::int64_t offset = scaled ? tensor.quantization.offsets[0] : 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          static_cast<float>(static_cast<std::int64_t>(load<Stored>(bytes, i)) + offset) * scale;
    }
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = to_float(load<Stored>(bytes, i));
    }
  }
  return values;
}

template <typename Stored>
void store(std::vector<std::byte>& bytes, std::size_t i, Stored value) {
  std::memcpy(bytes.data() + i * sizeof(Stored), &value, sizeof(Stored));
}

template <typename Stored>
void encode_floats(const qnn::Tensor& tensor, const Tensor& sample, std::vector<std::byte>& bytes) {
  const Tensor floats =
      sample.dtype == Dtype::float32 ? sample : cast_tensor(sample, Dtype::float32);
  const std::span<const std::byte> source(floats.data, floats.bytes());
  const std::size_t count = bytes.size() / sizeof(Stored);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = load<float>(source, i);
    if constexpr (std::is_integral_v<Stored>) {
      const auto low = static_cast<double>(std::numeric_limits<Stored>::min());
      const auto high = static_cast<double>(std::numeric_limits<Stored>::max());
      const double code =
          static_cast<double>(std::nearbyint(value / tensor.quantization.scales[0])) -
          static_cast<double>(tensor.quantization.offsets[0]);
      store(bytes, i, static_cast<Stored>(std::clamp(code, low, high)));
    } else {
      store(bytes, i, from_float<Stored>(value));
    }
  }
}

template <typename Stored>
void encode_integers(const Tensor& sample, std::vector<std::byte>& bytes) {
  const Tensor wide = sample.dtype == Dtype::int64 ? sample : cast_tensor(sample, Dtype::int64);
  const std::span<const std::byte> source(wide.data, wide.bytes());
  for (std::size_t i = 0; i < bytes.size() / sizeof(Stored); ++i) {
    const auto value = load<std::int64_t>(source, i);
    if (!std::in_range<Stored>(value)) {
      throw Error(ErrorKind::invalid_file, "the value " + std::to_string(value) +
                                               " does not fit into the target's " +
                                               std::to_string(8 * sizeof(Stored)) + " bits");
    }
    store(bytes, i, static_cast<Stored>(value));
  }
}

}  // namespace

float step_of(const qnn::Tensor& tensor) noexcept {
  return is_fixed(tensor.type) && has_one_scale(tensor) ? tensor.quantization.scales[0] : 0.0F;
}

std::vector<float> decoded(const qnn::Tensor& tensor, std::span<const std::byte> bytes) {
  require(bytes.size() == qnn::byte_size(tensor),
          "tensor \"" + tensor.name + "\" has " + std::to_string(bytes.size()) +
              " bytes; expected " + std::to_string(qnn::byte_size(tensor)));
  if (is_fixed(tensor.type) && !has_one_scale(tensor)) {
    refuse_type(tensor, "an activation of one scale was expected");
  }
  return with_stored_type(tensor, [&](auto kind) { return decode<decltype(kind)>(tensor, bytes); });
}

qnn::Value encoded(const qnn::Tensor& tensor, const Tensor& sample) {
  const Shape extents = stored_extents(tensor);
  if (element_count(sample.shape) != element_count(extents)) {
    throw Error(ErrorKind::invalid_file, "input \"" + tensor.name + "\" is " +
                                             to_text(sample.shape) + ", the target's graph wants " +
                                             to_text(extents));
  }
  const bool fixed = is_fixed(tensor.type);
  if (fixed && !has_one_scale(tensor)) {
    refuse_type(tensor, "an input of one scale was expected");
  }
  qnn::Value value{.type = tensor.type, .dims = tensor.dims};
  value.data.resize(qnn::byte_size(tensor));
  try {
    with_stored_type(tensor, [&](auto kind) {
      using Stored = decltype(kind);
      if constexpr (std::is_integral_v<Stored>) {
        if (!fixed) {
          encode_integers<Stored>(sample, value.data);
          return;
        }
      }
      encode_floats<Stored>(tensor, sample, value.data);
    });
  } catch (const Error& error) {
    throw error.within("input \"" + tensor.name + "\"");
  }
  return value;
}

Shape stored_extents(const qnn::Tensor& tensor) { return {tensor.dims.begin(), tensor.dims.end()}; }

Shape model_shape(const Shape& stored, const qnn::Layout& layout) {
  if (layout.empty()) {
    return stored;
  }
  Shape shape;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout[i] >= 0) {
      const auto axis = static_cast<std::size_t>(layout[i]);
      require(i < stored.size() && axis < layout.size(),
              "the layout names an axis that is not there");
      shape.resize(std::max(shape.size(), axis + 1), 1);
      shape[axis] = stored[i];
    }
  }
  require(layout.size() == stored.size() && element_count(shape) == element_count(stored),
          "the layout does not fit the extents " + to_text(stored));
  return shape;
}

std::vector<float> in_model_order(std::span<const float> values, const Shape& stored,
                                  const qnn::Layout& layout) {
  std::vector<float> result(values.begin(), values.end());
  if (qnn::is_identity(layout) || layout.empty()) {
    return result;
  }
  (void)model_shape(stored, layout);  // checks
  Shape present;                      // without inserted axes
  std::vector<int> axes;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    if (layout[i] >= 0) {
      present.push_back(stored[i]);
      axes.push_back(layout[i]);
    }
  }
  qnn::Layout inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    inverse[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  }
  const std::vector<std::byte> bytes =
      qnn::reordered(std::as_bytes(values), present, sizeof(float), inverse);
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

}  // namespace halfstep
