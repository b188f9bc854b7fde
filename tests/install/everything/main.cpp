// Uses halfstep::halfstep of an installation: reads a model through the ONNX library.
#include <cstdio>
#include <utility>

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include "halfstep/model/model.h"
#include "halfstep/version.h"

int main() {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, R"(
    <ir_version: 8, opset_import: ["" : 17]>
    consumer (float[1, 2] x) => (float[1, 2] y) { y = Relu(x) })");
  if (!status.IsOK()) {
    std::puts(status.ErrorMessage().c_str());
    return 1;
  }
  const halfstep::Model model = halfstep::Model::from_proto(std::move(proto), "consumer");
  std::printf("halfstep %s: %d node\n", halfstep::kVersion.data(),
              model.proto().graph().node_size());
  return model.proto().graph().node_size() == 1 ? 0 : 1;
}
