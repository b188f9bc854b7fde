#include "halfstep/outputs/qnn/constant_data.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "halfstep/core/half.h"
#include "halfstep/core/quantize.h"
#include "halfstep/outputs/constant_codes.h"
#include "halfstep/outputs/onnx_storage.h"
#include "halfstep/outputs/qnn/expand_blocks.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* start = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), start, start + sizeof(T));
}

std::vector<std::byte> narrowed(std::span<const std::byte> wide) {
  std::vector<std::byte> bytes;
  bytes.reserve(wide.size() / 2);
  for (std::size_t at = 0; at + sizeof(std::int64_t) <= wide.size(); at += sizeof(std::int64_t)) {
    std::int64_t value = 0;
    std::memcpy(&value, wide.data() + at, sizeof(value));
    // Bounds such as INT64_MAX mean "as far as there is"; the operators clamp them.
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
      throw Error(ErrorKind::unsupported, "the int64 value " + std::to_string(value) +
                                              " does not fit into the int32 that QNN computes in");
    }
    append(bytes, static_cast<std::int32_t>(value));
  }
  return bytes;
}

std::vector<std::byte> plain_bytes(const Model& model, const onnx::TensorProto& tensor,
                                   DataType type) {
  if (is_float(type)) {
    return float_bytes(model.floats(tensor), type);
  }
  const TensorBytes bytes = model.data(tensor);
  if (tensor.data_type() == onnx::TensorProto::INT64) {
    return narrowed(bytes.span());
  }
  return {bytes.span().begin(), bytes.span().end()};
}

}  // namespace

std::vector<std::byte> float_bytes(std::span<const float> values, DataType type) {
  std::vector<std::byte> bytes;
  bytes.reserve(values.size() * size_of(type));
  for (const float value : values) {
    if (type == DataType::float16) {
      append(bytes, to_float16(value).bits);
    } else if (type == DataType::bfloat16) {
      append(bytes, to_bfloat16(value).bits);
    } else {
      append(bytes, value);
    }
  }
  return bytes;
}

std::vector<std::byte> reordered(std::span<const std::byte> bytes, const Shape& shape,
                                 std::size_t width, const Layout& layout) {
  const Shape dims = stored_shape(shape, layout);
  if (memory_order(shape, layout) == memory_order(shape, identity_layout(shape.size()))) {
    return {bytes.begin(), bytes.end()};
  }
  const Shape strides = row_major_strides(shape);
  std::vector<std::byte> result(bytes.size());
  Shape at(dims.size(), 0);
  std::int64_t from = 0;
  for (std::size_t to = 0; to < bytes.size(); to += width) {
    std::memcpy(result.data() + to, bytes.data() + static_cast<std::size_t>(from) * width, width);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      const std::int64_t step =
          layout[axis] < 0 ? 0 : strides[static_cast<std::size_t>(layout[axis])];
      from += step;
      if (++at[axis] < dims[axis]) {
        break;
      }
      from -= step * dims[axis];
      at[axis] = 0;
    }
  }
  return result;
}

ConstantData constant_data(const Model& model, const onnx::TensorProto& tensor,
                           const Encoding* encoding, const std::vector<std::byte>* kept,
                           const Layout& layout, const Encoding* rounding) {
  const Shape shape = shape_of(tensor);
  ConstantData data;
  std::vector<std::byte> bytes;
  if (encoding == nullptr) {
    data.type.type = plain_type(tensor.data_type());
    bytes = plain_bytes(model, tensor, data.type.type);
  } else if (encoding->is_float()) {
    data.type = tensor_type(*encoding, shape, layout);
    std::vector<float> values = model.floats(tensor);
    if (rounding != nullptr) {
      const TensorView<float> view(values.data(), shape);
      fake_quantize(view, bind(*rounding, shape, Role::weight), view);
    }
    bytes = float_bytes(values, data.type.type);
  } else {
    Encoding stored = stored_encoding(*encoding);
    bytes = kept != nullptr ? *kept : constant_codes(model.floats(tensor), *encoding, shape);
    if (is_misread_in_blocks(stored, shape)) {
      expand_blocks(stored, bytes, shape);
    }
    data.type = tensor_type(stored, shape, layout);
  }
  data.dims = stored_shape(shape, layout);
  if (data.dims.empty()) {
    data.dims = {1};
  }
  data.bytes = reordered(bytes, shape, size_of(data.type.type), layout);
  return data;
}

}  // namespace halfstep::qnn
