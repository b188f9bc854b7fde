#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include "halfstep/model/model.h"

namespace halfstep {

/// The message that ONNX's text syntax describes, for example
///   <ir_version: 8, opset_import: ["" : 17]>
///   g (float[N, 4] x) => (float[N, 4] y) { y = Relu (x) }
inline onnx::ModelProto proto_from_text(std::string_view text) {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, std::string(text).c_str());
  if (!status.IsOK()) {
    throw std::runtime_error("model text: " + status.ErrorMessage());
  }
  return proto;
}

inline Model model_from_text(std::string_view text) {
  return Model::from_proto(proto_from_text(text), "test model");
}

}  // namespace halfstep
