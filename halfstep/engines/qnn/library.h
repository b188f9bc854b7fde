#pragma once

#include <filesystem>
#include <string>

#include "halfstep/engines/qnn/api.h"

/// Where Qualcomm's libraries come from. They are never part of halfstep: a user installs them.
namespace halfstep::qnn {

struct Libraries {
  std::filesystem::path folder{};
  std::string source{};  ///< "--qnn-libs", "QAIRT_SDK_ROOT" or "onnxruntime-qnn"

  [[nodiscard]] std::filesystem::path htp() const { return folder / "libQnnHtp.so"; }
  [[nodiscard]] std::filesystem::path ir() const { return folder / "libQnnIr.so"; }
  [[nodiscard]] std::filesystem::path system() const { return folder / "libQnnSystem.so"; }
};

/// The folder of the libraries. In this order: `given` (a folder with libQnnHtp.so, or the root of
/// an SDK), the SDK that the environment variable QAIRT_SDK_ROOT names, the Python package
/// onnxruntime-qnn of the environment that this code or the program lies in.
/// Errors: unsupported with every place looked at and the line that installs them. A folder that
/// was named but lacks them is an error too: nothing else is tried then.
[[nodiscard]] Libraries find_libraries(const std::string& given);

/// How to get them, for messages.
[[nodiscard]] const char* install_hint() noexcept;

/// Opens a backend library and returns its table of functions. Only in the worker process.
/// Errors: unsupported if it can't be opened, is none of QNN, or has another core API than 2.
[[nodiscard]] const api::Interface& open_backend(const std::filesystem::path& library);

/// The same for libQnnSystem.so. Errors: as above; needs system API 1.
[[nodiscard]] const api::SystemInterface& open_system(const std::filesystem::path& library);

/// "2.40.0"
[[nodiscard]] std::string to_text(const api::Version& version);

}  // namespace halfstep::qnn
