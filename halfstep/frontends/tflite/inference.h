#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include "halfstep/support/tensor_view.h"

namespace halfstep::tflite {

/// Types of the values of a graph that is being made, from ONNX's shape inference of the nodes that
/// were added last.
class Inference {
 public:
  /// Goes on to the end of `graph`. Errors: invalid_file with the reason of ONNX, for a node whose
  /// operands do not fit it.
  void advance(const onnx::GraphProto& graph);
  /// Extents of a value, -1 for one that is not known; null if nothing is known.
  [[nodiscard]] const Shape* shape(const std::string& value) const;
  /// TensorProto.DataType of a value; 0 if it is not known.
  [[nodiscard]] int type(const std::string& value) const;

 private:
  void add(const std::string& value, const onnx::TypeProto& type);
  void add_constants(const onnx::GraphProto& graph);

  std::unordered_map<std::string, onnx::TypeProto> types_{};
  std::unordered_map<std::string, Shape> shapes_{};
  std::unordered_map<std::string, int> constants_{};
  std::unordered_map<std::string, onnx::TensorShapeProto> extents_{};  ///< values that are extents
  int nodes_ = 0, initializers_ = 0;
};

}  // namespace halfstep::tflite
