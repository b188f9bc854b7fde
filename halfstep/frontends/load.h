#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Reads a model in whichever form it is, told by its first bytes and not by its name: TensorFlow
/// Lite (load_tflite), else ONNX (load_onnx). Errors: as theirs.
/// `extents` of inputs of a TensorFlow Lite model are others than it was converted with; ONNX
/// models stay as they are (fix_input_extents).
[[nodiscard]] Model load_model(const std::filesystem::path& path, Diagnostics& diagnostics,
                               const std::map<std::string, Shape>& extents = {});
/// The same for the content of a file; `name` stands in messages.
[[nodiscard]] Model model_from_bytes(std::span<const std::byte> bytes, std::string name,
                                     Diagnostics& diagnostics,
                                     const std::map<std::string, Shape>& extents = {});

}  // namespace halfstep
