#pragma once

#include <filesystem>
#include <string>

#include "halfstep/frontends/load.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// A front end in Python: the module that converts, and what the user installs to have it.
struct PythonFrontend {
  std::string kind{};   ///< the request's "kind": python/halfstep/_frontend/__main__.py knows it
  std::string label{};  ///< in messages: "the TensorFlow front end"
  std::string extra{};  ///< of the package: "tensorflow"
};

/// Runs `python -m halfstep._frontend REQUEST` in a child process and reads the ONNX model that it
/// writes into a temporary folder. REQUEST is JSON: {"kind", "model", "output", "report",
/// "signature", "inputs", "outputs"}; the report that the child writes is JSON: {"diagnostics":
/// [{"severity", "rule", "subject", "message"}]} or {"error": {"kind", "message"}}.
/// Errors: that of the report; unsupported if Python or the framework is missing (with the install
/// command), or the child died or took too long (with its last words).
[[nodiscard]] Model load_with_python(const PythonFrontend& frontend,
                                     const std::filesystem::path& path, const LoadOptions& options,
                                     Diagnostics& diagnostics);

}  // namespace halfstep
