#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "halfstep/core/dtype.h"
#include "halfstep/encodings/encoding.h"

namespace halfstep {

/// How ONNX stores codes of a type.
struct OnnxStorage {
  Dtype dtype;     ///< type of the ONNX tensor, at least as wide as the codes
  int opset;       ///< QuantizeLinear / DequantizeLinear take it from here on, per tensor
  int ir_version;  ///< of the model file
};

/// The ONNX type that holds all codes of an encoding: its own, or the next wider one (int3 in int4,
/// uint32 in int32 moved by 2^31, half steps of a 2-bit type as odd int4 codes of half the scale).
/// Empty if ONNX has none. Source: ONNX operators QuantizeLinear, DequantizeLinear, versions 10
/// to 25.
[[nodiscard]] std::optional<OnnxStorage> onnx_storage(const Encoding& encoding) noexcept;

/// The same values said with the stored type: uint32 moved by 2^31, half steps as steps of half the
/// scale.
[[nodiscard]] Encoding stored_encoding(const Encoding& encoding);

/// May codes of this type be made at run time (by QuantizeLinear), or only stored?
[[nodiscard]] bool onnx_can_quantize(const Encoding& encoding) noexcept;

/// The type of the codes where it is narrower than the one that stores them and both count the same
/// way ("int6" in int8): said in the metadata of the nodes. Empty otherwise.
[[nodiscard]] std::string_view narrow_type(const Encoding& encoding) noexcept;
/// Can a Clip in front of QuantizeLinear make the codes? Of narrow types, one scale for the tensor.
[[nodiscard]] bool onnx_can_saturate(const Encoding& encoding) noexcept;

/// The type of the scales of a stored constant: float8_e8m0fnu of FP4 codes whose scales are all
/// powers of two (an MX block), else float32. Source: OCP Microscaling Formats 1.0.
[[nodiscard]] Dtype onnx_scale_type(const Encoding& encoding) noexcept;

/// The lowest IR version of a file with this encoding.
[[nodiscard]] int required_ir_version(const Encoding& encoding);

/// The lowest opset that can say the encoding: its type, 13 per channel, 21 per block, and 24 with
/// scales in float8_e8m0fnu.
/// Errors: unsupported if ONNX has no such type, or the encoding uses the minval formulation.
[[nodiscard]] int required_opset(const Encoding& encoding);

}  // namespace halfstep
