#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/core/dtype.h"
#include "halfstep/model/model.h"
#include "halfstep/support/progress.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {

/// A dense row-major tensor that owns or borrows its memory.
struct Tensor {
  Dtype dtype = Dtype::float32;
  Shape shape{};
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner{};  ///< keeps `data` alive; may be empty when the caller does
  [[nodiscard]] std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(element_count(shape)) * storage_size(dtype);
  }
};
[[nodiscard]] Tensor make_tensor(Dtype dtype, Shape shape, std::vector<std::byte> bytes);

/// One sample: arrays by input name.
using Sample = std::map<std::string, Tensor>;

struct TensorInfo {
  std::string name{};
  Dtype dtype = Dtype::float32;
  Shape shape{};  ///< -1: any extent
};

/// A float tensor while the engine runs; valid only during the call.
struct WatchedValue {
  const float* data = nullptr;
  std::int64_t count = 0;  ///< physical values, padding included
  Shape shape{};           ///< logical
  std::int64_t channel_block =
      1;                ///< > 1: NCHWc layout [N, C/block, H, W, block], channels padded with 0
  bool padded = false;  ///< the last channel block holds padding
  /// The value at a row-major index into the logical shape.
  [[nodiscard]] float at(std::int64_t index) const noexcept;
};

/// Called for watch[i] each time it has been computed, in the thread of run().
using WatchCallback = std::function<void(std::size_t i, const WatchedValue& value)>;

struct SessionOptions {
  int threads = 1;
  bool optimize = true;              ///< all graph optimizations of the engine, or none
  std::vector<std::string> watch{};  ///< float tensors of the model to look at while running
  WatchCallback on_value{};
  const Progress* progress = nullptr;  ///< a run stops soon after its cancel()
};

class Session {
 public:
  virtual ~Session() = default;
  [[nodiscard]] virtual const std::vector<TensorInfo>& inputs() const = 0;
  [[nodiscard]] virtual const std::vector<TensorInfo>& outputs() const = 0;
  /// Outputs in the order of outputs().
  /// Errors: invalid_file if a feed is missing, unknown or of the wrong type or shape (naming it);
  /// unsupported with the engine's message and the node; interrupted.
  [[nodiscard]] virtual std::vector<Tensor> run(const Sample& sample) = 0;
};

/// How to run a model. Narrow on purpose: other engines, also ones written in Python, stay
/// possible.
class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual std::string name() const = 0;  ///< "ONNX Runtime 1.32.0"
  /// Errors: unsupported with the engine's message, naming the model (and the op where known).
  [[nodiscard]] virtual std::unique_ptr<Session> open(const Model& model,
                                                      const SessionOptions& options) = 0;
  /// The same for a file already written (the result of quantize).
  [[nodiscard]] virtual std::unique_ptr<Session> open(const std::filesystem::path& path,
                                                      const SessionOptions& options) = 0;
};

/// Loads ONNX Runtime's shared library (once a process) and makes an engine of it. `library`: path,
/// or empty: the wheel beside this binary or module, then the system's. Errors: unsupported with
/// every place looked at and the install command.
[[nodiscard]] std::unique_ptr<Engine> make_onnxruntime_engine(const std::string& library = {});

}  // namespace halfstep
