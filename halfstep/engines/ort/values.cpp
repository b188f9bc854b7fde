#include "halfstep/engines/ort/values.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace halfstep::ort {
namespace {

/// ONNX Runtime numbers its element types as ONNX does.
std::optional<Dtype> dtype_of(ONNXTensorElementDataType type) {
  const auto dtype = dtype_from_onnx(static_cast<int>(type));
  return dtype && bits(*dtype) >= 8 ? dtype : (dtype == Dtype::boolean ? dtype : std::nullopt);
}

template <typename T>
std::vector<float> convert(const Ort::Value& value, std::size_t count) {
  const T* data = value.GetTensorData<T>();
  std::vector<float> floats(count);
  std::transform(data, data + count, floats.begin(), [](const T& x) {
    if constexpr (std::is_class_v<T>) {
      return x.ToFloat();
    } else {
      return static_cast<float>(x);
    }
  });
  return floats;
}

}  // namespace

std::optional<TensorInfo> tensor_info(std::string name, const Ort::TypeInfo& type) {
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) {
    return std::nullopt;
  }
  const auto tensor = type.GetTensorTypeAndShapeInfo();
  const auto dtype = dtype_of(tensor.GetElementType());
  if (!dtype) {
    return std::nullopt;
  }
  return TensorInfo{.name = std::move(name), .dtype = *dtype, .shape = tensor.GetShape()};
}

Ort::Value borrow(const Tensor& tensor) {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  const auto type = static_cast<ONNXTensorElementDataType>(info(tensor.dtype).onnx);
  // The engine never writes to its inputs, but its interface has no word for that.
  auto* data = const_cast<std::byte*>(tensor.data);
  return Ort::Value::CreateTensor(memory, data, tensor.bytes(), tensor.shape.data(),
                                  tensor.shape.size(), type);
}

Tensor take(Ort::Value value) {
  const auto type = value.GetTensorTypeAndShapeInfo();
  const auto dtype = dtype_of(type.GetElementType());
  if (!dtype) {
    throw Error(ErrorKind::unsupported, "an output has an element type that halfstep can't hold");
  }
  Tensor tensor{.dtype = *dtype, .shape = type.GetShape()};
  tensor.data = static_cast<const std::byte*>(value.GetTensorRawData());
  tensor.owner = std::make_shared<Ort::Value>(std::move(value));
  return tensor;
}

std::vector<float> to_floats(const Ort::Value& value) {
  if (value.IsTensor()) {
    const auto type = value.GetTensorTypeAndShapeInfo();
    const std::size_t count = type.GetElementCount();
    switch (type.GetElementType()) {
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
        return convert<float>(value, count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
        return convert<double>(value, count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
        return convert<Ort::Float16_t>(value, count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
        return convert<Ort::BFloat16_t>(value, count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
        return convert<std::int8_t>(value, count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
        return convert<std::uint8_t>(value, count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
        return convert<std::int16_t>(value, count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
        return convert<std::uint16_t>(value, count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
        return convert<std::int32_t>(value, count);
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
        return convert<std::int64_t>(value, count);
      default:
        break;
    }
  }
  throw Error(ErrorKind::unsupported, "it is not a tensor of numbers");
}

}  // namespace halfstep::ort
