#include <string>
#include <utility>
#include <vector>

#include "halfstep/frontends/tflite/builder.h"
#include "halfstep/frontends/tflite/content.h"

namespace halfstep::tflite {
namespace {

template <class T>
std::span<const std::byte> as_content(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

void Builder::add_initializer(const std::string& name, int type, const Shape& shape,
                              std::span<const std::byte> content) {
  stored_ += content.size();
  if (stored_ > budget_) {
    damaged("its operators read the same constants over and over, more than " +
            std::to_string(budget_ >> 20U) + " MiB in all");
  }
  onnx::TensorProto& result = *graph_.add_initializer();
  result.set_name(name);
  result.set_data_type(type);
  for (const std::int64_t size : shape) {
    result.add_dims(size);
  }
  result.set_raw_data(content.data(), content.size());
}

std::string Builder::constant(const Ints& values) {
  std::string key = "ints";
  for (const std::int64_t value : values) {
    key += "," + std::to_string(value);
  }
  std::string& name = constants_[key];
  if (name.empty()) {
    name = fresh(scope_ + "_constant");
    add_initializer(name, onnx::TensorProto::INT64, {static_cast<std::int64_t>(values.size())},
                    as_content(values));
  }
  return name;
}

std::string Builder::scalar(float value, Type type) {
  std::string name = fresh(scope_ + "_constant");
  const std::vector<std::byte> content = number_as(value, type);
  add_initializer(name, onnx_type(type), {}, content);
  return name;
}

std::string Builder::weights(const std::string& name, const Shape& shape,
                             const std::vector<float>& values) {
  std::string unique = fresh(name);
  add_initializer(unique, onnx::TensorProto::FLOAT, shape, as_content(values));
  return unique;
}

std::string Builder::weights(const std::string& name, const Shape& shape,
                             std::vector<std::byte> values, const std::vector<float>& scales,
                             std::int64_t axis) {
  const std::string unique = fresh(name);
  Tensor tensor;
  tensor.scale = scales;
  tensor.zero_point.assign(scales.size(), 0);
  const std::string stored = fresh(unique + "_quantized");
  add_initializer(stored, onnx::TensorProto::INT8, shape, values);
  const auto [scale, zero] = parameters(tensor, Type::int8, unique);
  onnx::NodeProto& result = *graph_.add_node();
  result.set_op_type("DequantizeLinear");
  for (const std::string& operand : {stored, scale, zero}) {
    result.add_input(operand);
  }
  result.add_output(unique);
  if (scales.size() > 1) {
    NodeRef(result).set("axis", axis);
  }
  return unique;
}

std::string Builder::read_constant(int i, const Ints& order, const Shape& shape) {
  const Tensor& stored = tensor(i);
  std::string key = "tensor" + std::to_string(i);
  for (const std::int64_t axis : order) {
    key += "," + std::to_string(axis);
  }
  for (const std::int64_t size : shape) {
    key += "x" + std::to_string(size);
  }
  if (const auto found = constants_.find(key); found != constants_.end()) {
    return found->second;
  }
  // The first form gets the name of the file.
  const bool first = constants_.emplace("tensor" + std::to_string(i) + "name", stored.name).second;
  const std::string name = first ? stored.name : fresh(stored.name);
  const Tensor content = rearranged(stored, shape, order);
  if (!content.quantized()) {
    add_initializer(name, onnx_type(content.type), content.shape, content.data);
  } else if (fits_dequantize(content)) {
    const Tensor narrow = narrowed(content);
    const std::string integers = fresh(name + "_quantized");
    add_initializer(integers, onnx_type(narrow.type), narrow.shape, narrow.data);
    const auto [scale, zero] = parameters(narrow, narrow.type, name);
    NodeRef made = node("DequantizeLinear", {integers, scale, zero});
    if (narrow.scale.size() > 1) {
      made.set("axis", narrow.axis);
    }
    rename(made.out(), name);
  } else {
    note("tflite/wide-constant", stored.name,
         "its integers need more than 32 bits or a zero point that ONNX can't say; it is a float32 "
         "constant");
    add_initializer(name, onnx::TensorProto::FLOAT, content.shape,
                    as_content(float_values(content)));
  }
  return constants_[key] = name;
}

std::pair<std::string, std::string> Builder::parameters(const Tensor& tensor, Type type,
                                                        const std::string& base) {
  Shape shape;
  if (tensor.scale.size() > 1) {
    shape = {static_cast<std::int64_t>(tensor.scale.size())};
  }
  const std::string scale = fresh(base + "_scale");
  add_initializer(scale, onnx::TensorProto::FLOAT, shape, as_content(tensor.scale));
  const std::string zero = fresh(base + "_zero_point");
  add_initializer(zero, onnx_type(type), shape, packed(tensor.zero_point, type));
  return {scale, zero};
}

std::string Builder::read_int64(const Operator& op, std::size_t slot) {
  const Tensor& operand = input(op, slot);
  if (operand.constant) {
    const Ints values = integers(op, slot);
    if (operand.shape.size() == 1) {
      return constant(values);
    }
    std::string name = fresh(operand.name + "_int64");
    add_initializer(name, onnx::TensorProto::INT64, operand.shape, as_content(values));
    return name;
  }
  const std::string value = read(op, slot);
  return operand.type == Type::int64
             ? value
             : node("Cast", {value}).set("to", onnx::TensorProto::INT64).out();
}

}  // namespace halfstep::tflite
