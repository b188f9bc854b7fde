#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {

/// Is this a TensorFlow Lite file (its identifier is "TFL3")?
[[nodiscard]] bool is_tflite(std::span<const std::byte> bytes) noexcept;

/// Reads a TensorFlow Lite model. The result is an ONNX model of opset 21 under the file's tensor
/// names. What the file says of quantization stands in it as QuantizeLinear and DequantizeLinear,
/// value = (q - zero_point) * scale; extract_qdq() makes an EncodingTable of them. Inputs and
/// outputs keep name and shape; quantized ones are float32. Inner tensors of a network of
/// convolutions are [N, C, ...] where the file has [N, ..., C]; constants are moved when they are
/// read.
/// `extents` of inputs are others than the file was converted with; all tensors follow.
/// Errors: invalid_file (missing, damaged), unsupported naming the operator and the reason,
/// invalid_argument (extents that no input has, or that the model does not take).
/// Source: schema.fbs and the reference kernels of LiteRT.
[[nodiscard]] Model load_tflite(const std::filesystem::path& path, Diagnostics& diagnostics,
                                const std::map<std::string, Shape>& extents = {});
/// `name` stands in messages.
[[nodiscard]] Model tflite_from_bytes(std::span<const std::byte> bytes, std::string name,
                                      Diagnostics& diagnostics,
                                      const std::map<std::string, Shape>& extents = {});

}  // namespace halfstep
