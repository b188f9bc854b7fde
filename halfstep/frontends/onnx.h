#pragma once

#include <filesystem>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Model::load, with a warning for what often leads to trouble later: an opset before 13 (its
/// number is raised when the result needs it), training graphs, inputs without a shape. Errors: as
/// Model::load.
[[nodiscard]] Model load_onnx(const std::filesystem::path& path, Diagnostics& diagnostics);

}  // namespace halfstep
