#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/model/model.h"
#include "halfstep/support/error.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline void put(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The message of the error that `action` throws; "no error" if it throws none.
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Sets raw_data to 0, 1, 2, ... as float32.
inline void fill(onnx::TensorProto& tensor, std::vector<std::int64_t> dims) {
  std::int64_t count = 1;
  tensor.clear_dims();
  for (const std::int64_t extent : dims) {
    tensor.add_dims(extent);
    count *= extent;
  }
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
  }
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.clear_float_data();
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
}

/// y = x * w: w has 64 x 64 floats (16 KiB of raw_data), b has 64 (256 bytes).
inline onnx::ModelProto large_model() {
  onnx::ModelProto proto = proto_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "maker">
    g (float[N, 64] x) => (float[N, 64] y) {
      p = MatMul (x, w)
      y = Add (p, b)
    })");
  onnx::TensorProto& weight = *proto.mutable_graph()->add_initializer();
  weight.set_name("w");
  fill(weight, {64, 64});
  onnx::TensorProto& bias = *proto.mutable_graph()->add_initializer();
  bias.set_name("b");
  fill(bias, {64});
  return proto;
}

}  // namespace halfstep
