#pragma once

// What the tests of this folder ask of a written graph.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/encodings/encoding.h"
#include "halfstep/model/model.h"

namespace halfstep {

/// "DequantizeLinear(w_quantized, w_scale, w_zero_point) -> w", nodes in their order.
inline std::vector<std::string> lines_of(const onnx::GraphProto& graph) {
  std::vector<std::string> lines;
  for (const onnx::NodeProto& node : graph.node()) {
    std::string line = node.op_type() + "(";
    for (int i = 0; i < node.input_size(); ++i) {
      line += (i == 0 ? "" : ", ") + node.input(i);
    }
    line += ") ->";
    for (const std::string& output : node.output()) {
      line += " " + output;
    }
    lines.push_back(line);
  }
  return lines;
}

inline const onnx::TensorProto* find_initializer(const Model& model, std::string_view name) {
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) {
      return &tensor;
    }
  }
  return nullptr;
}

/// "int8[2, 3]", empty if there is none.
inline std::string type_of(const Model& model, std::string_view name) {
  const onnx::TensorProto* tensor = find_initializer(model, name);
  return tensor == nullptr ? ""
                           : std::string(halfstep::name(*dtype_from_onnx(tensor->data_type()))) +
                                 to_text(shape_of(*tensor));
}

template <typename T>
std::vector<T> values_of(const Model& model, std::string_view name) {
  const TensorBytes bytes = model.data(*find_initializer(model, name));
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.span().data(), values.size() * sizeof(T));
  return values;
}

inline const onnx::NodeProto& node_writing(const Model& model, std::string_view tensor) {
  return *std::find_if(
      model.graph().node().begin(), model.graph().node().end(), [&](const onnx::NodeProto& node) {
        return std::find(node.output().begin(), node.output().end(), tensor) != node.output().end();
      });
}

inline Encoding uint8_encoding(float scale = 0.1F, std::int64_t zero_point = 128) {
  return {.dtype = Dtype::uint8, .scale = {scale}, .zero_point = {zero_point}};
}

inline Encoding int8_channels(std::int64_t axis, std::vector<float> scales) {
  return {.dtype = Dtype::int8,
          .granularity = PerChannel{.axis = axis},
          .shape = {static_cast<std::int64_t>(scales.size())},
          .scale = scales,
          .zero_point = std::vector<std::int64_t>(scales.size(), 0)};
}

}  // namespace halfstep
