#pragma once

#include <filesystem>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Reads a model in whichever form it is, told by its first bytes and not by its name: TensorFlow
/// Lite (load_tflite), else ONNX (load_onnx). Errors: as theirs.
[[nodiscard]] Model load_model(const std::filesystem::path& path, Diagnostics& diagnostics);

}  // namespace halfstep
