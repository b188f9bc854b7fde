#pragma once

#include <cstddef>
#include <vector>

#include "halfstep/encodings/encoding.h"
#include "halfstep/model/model.h"

namespace halfstep {

/// A constant that was stored as integers, as the float tensor that stands for it.
struct DequantizedConstant {
  Dtype dtype = Dtype::float32;  ///< float32 or float16
  std::vector<std::byte> bytes{};
  /// The integers, one in storage_size() bytes each, where the float values can't restore them.
  std::vector<std::byte> codes{};
};

/// Formula: value = (q - zero_point) * scale in float32; with `half` rounded to float16, as
/// DequantizeLinear does when its scale is float16.
/// Errors:  invalid_argument if the encoding does not fit; invalid_file if the data is too short.
[[nodiscard]] DequantizedConstant dequantized_constant(const Model& model,
                                                       const onnx::TensorProto& stored,
                                                       const Encoding& encoding, bool half);

}  // namespace halfstep
