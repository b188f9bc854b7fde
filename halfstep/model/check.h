#pragma once

#include <string_view>

#include <onnx/onnx_pb.h>

namespace halfstep {

/// Is `text` well-formed UTF-8?
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Runs ONNX's checker on a model with tokens. It is told to overlook what every runtime accepts:
/// a graph output or input without a shape, the experimental operators of old models, and in IR
/// version 3 initializers that are no inputs. Errors: invalid_file with the checker's reason and
/// the node; unsupported for a newer IR version.
void check_model(const onnx::ModelProto& model);

}  // namespace halfstep
