#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halfstep/model/model.h"
#include "halfstep/outputs/qnn/tensor_type.h"

namespace halfstep::qnn {

/// A constant of the model as QNN stores it.
struct ConstantData {
  TensorType type{};
  Shape dims{};
  std::vector<std::byte> bytes{};
};

/// `kept`: codes that the values can't restore, may be null; `encoding` null: as it is (int64 in 32
/// bits). `rounding`: of a float encoding, the codes that the values are rounded to first; may be
/// null. Errors: unsupported for an int64 value that does not fit into int32, and for types that
/// QNN lacks.
[[nodiscard]] ConstantData constant_data(const Model& model, const onnx::TensorProto& tensor,
                                         const Encoding* encoding,
                                         const std::vector<std::byte>* kept, const Layout& layout,
                                         const Encoding* rounding = nullptr);

/// The values of `width` bytes each in another order of axes.
[[nodiscard]] std::vector<std::byte> reordered(std::span<const std::byte> bytes, const Shape& shape,
                                               std::size_t width, const Layout& layout);

/// Numbers of the type: float32 or float16 rounded to nearest, integers as they are.
[[nodiscard]] std::vector<std::byte> float_bytes(std::span<const float> values, DataType type);

}  // namespace halfstep::qnn
