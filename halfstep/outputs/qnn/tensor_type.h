#pragma once

#include <string>

#include "halfstep/encodings/encoding.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/outputs/qnn/layout.h"

namespace halfstep::qnn {

/// Data type and quantization of a tensor: what is left of it besides name, extents and values.
struct TensorType {
  DataType type = DataType::float32;
  Quantization quantization{};
};

/// The same data type and the same meaning of codes?
[[nodiscard]] bool same_type(const TensorType& a, const TensorType& b);
[[nodiscard]] bool is_fixed_point(DataType type) noexcept;
[[nodiscard]] bool is_float(DataType type) noexcept;
/// Bytes of one value.
[[nodiscard]] std::size_t size_of(DataType type) noexcept;

/// The type of a tensor without encoding, by TensorProto.DataType: int64 is stored as int32.
/// Errors: unsupported for types that QNN lacks.
[[nodiscard]] DataType plain_type(int elem_type);

/// How a tensor of `shape`, stored in `layout`, says its encoding. 4 and 2 bits are significant
/// bits of an 8-bit type (3 travel as 4). Channels and blocks follow their axes.
/// Formula: QNN value = scale (code + offset), offset = -zero_point
/// Errors:  unsupported for the minval formulation, and for formats without QNN type.
[[nodiscard]] TensorType tensor_type(const Encoding& encoding, const Shape& shape,
                                     const Layout& layout);

}  // namespace halfstep::qnn
