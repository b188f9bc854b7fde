#pragma once

#include <memory>
#include <optional>
#include <string>

#include <onnxruntime_cxx_api.h>

namespace halfstep::ort {

/// ONNX Runtime's shared library, opened once, and its one environment. Lives as long as an engine
/// or session does, and until the process ends once it was made.
class Runtime {
 public:
  explicit Runtime(const std::string& library);
  [[nodiscard]] Ort::Env& env() noexcept { return *env_; }
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  [[nodiscard]] const std::string& library() const noexcept { return library_; }

 private:
  std::string library_;
  std::string version_{};
  // Its destructor needs the library, so there is none until that is found.
  std::optional<Ort::Env> env_{};
};

/// Errors: unsupported with every place looked at; invalid_argument if another library is open
/// already.
[[nodiscard]] std::shared_ptr<Runtime> runtime(const std::string& library);

}  // namespace halfstep::ort
