#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/api.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/library.h"
#include "halfstep/engines/qnn/log.h"
#include "halfstep/engines/qnn/native.h"
#include "halfstep/engines/qnn/values.h"

/// The calls into Qualcomm's libraries. Only in the worker process: they crash on bad input, and
/// the chip is chosen once a process.
namespace halfstep::qnn {

/// A number of the C API as an Error: unsupported, with the operation, the number and what the
/// backend said.
[[noreturn]] void fail_call(const std::string& what, api::Error error);

/// A backend library with its log and its device.
class Backend {
 public:
  /// The HTP emulator as the chip `soc` (0: any, without a device of its own).
  /// Errors: unsupported (no such library, refused by it).
  Backend(const std::filesystem::path& library, std::uint32_t soc);
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  ~Backend();

  [[nodiscard]] const api::Interface& api() const noexcept { return *api_; }
  [[nodiscard]] api::Handle backend() const noexcept { return backend_; }
  [[nodiscard]] api::Handle device() const noexcept { return device_; }
  /// "HTP_QTI_AISW, core API 2.40.0, backend API 5.51.0, build v2.51.0.260929181845"
  [[nodiscard]] std::string version() const;

  struct Verdict {
    bool accepted = false;
    std::uint32_t code = 0;
    LogSummary log{};
  };
  /// The validator's answer about one operator.
  [[nodiscard]] Verdict validate(NativeGraph& graph, std::size_t op);
  /// The type combinations that the backend takes for the operator: lines as in LogSummary.
  [[nodiscard]] std::vector<std::string> kernels(NativeGraph& graph, std::size_t op);

 private:
  const api::Interface* api_;
  api::Handle log_ = nullptr;
  api::Handle backend_ = nullptr;
  api::Handle device_ = nullptr;
};

/// A context that is freed with it.
class Context {
 public:
  explicit Context(Backend& backend);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();
  [[nodiscard]] api::Handle get() const noexcept { return context_; }

 private:
  Backend& backend_;
  api::Handle context_ = nullptr;
};

/// Adds every tensor and operator of `native` to a graph of the backend.
/// Errors: unsupported naming the tensor or operator that was refused.
void add_to_graph(const Backend& backend, api::Handle graph, NativeGraph& native);

/// A graph that is ready to run.
class Session {
 public:
  /// Builds and prepares `graph`. Errors: unsupported with the backend's messages.
  Session(Backend& backend, const Graph& graph, const PrepareOptions& options);
  /// Loads the only graph of a DLC, whose name is `graph_name`, and prepares it.
  Session(Backend& backend, const std::filesystem::path& system_library,
          const std::filesystem::path& dlc, const std::string& graph_name, bool float16);

  [[nodiscard]] const Prepared& prepared() const noexcept { return prepared_; }
  /// Errors: invalid_argument (an input that is missing, unknown or of another size), unsupported.
  [[nodiscard]] Values execute(const Values& inputs);

 private:
  void prepare();
  void describe(const api::Tensor& tensor, bool input);

  Backend& backend_;
  std::unique_ptr<Context> context_{};
  api::Handle graph_ = nullptr;
  std::vector<api::Tensor> inputs_{}, outputs_{};
  Prepared prepared_{};
};

}  // namespace halfstep::qnn
