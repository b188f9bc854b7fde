#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "halfstep/engines/engine.h"
#include "halfstep/engines/ort/canceller.h"
#include "halfstep/engines/ort/library.h"
#include "halfstep/engines/ort/target_ops.h"
#include "halfstep/engines/ort/watch_graph.h"
#include "halfstep/engines/ort/watch_op.h"

namespace halfstep::ort {

/// A model file that is ready to be run, and how its watched tensors are reached.
struct Prepared {
  std::filesystem::path path{};
  std::string name{};  ///< of the model, for messages
  bool optimize = true;
  WatchPlan plan{};
  std::vector<std::string> added{};   ///< outputs that the model did not have
  std::vector<std::size_t> inputs{};  ///< watched names that are graph inputs
};

/// Options of every session: deterministic, no spinning, initializers outside the arena.
[[nodiscard]] Ort::SessionOptions session_options(int threads, bool optimize);

/// What an Ort::Exception says, without the sources of ONNX Runtime; prefixed by the model's name.
[[nodiscard]] Error engine_error(const std::string& model, const Ort::Exception& exception);

/// Opens a session that stops loading when the canceller says so.
/// Errors: unsupported with the engine's message; interrupted.
[[nodiscard]] Ort::Session open_session(Runtime& runtime, const std::filesystem::path& path,
                                        const std::string& model, Ort::SessionOptions& options,
                                        Canceller& canceller);

/// Values in one block of channels of the engine's NCHWc layout on this machine (8 or 16).
[[nodiscard]] std::int64_t channel_block(Runtime& runtime);

class OrtSession final : public Session {
 public:
  OrtSession(std::shared_ptr<Runtime> runtime, Prepared prepared, const SessionOptions& options);

  [[nodiscard]] const std::vector<TensorInfo>& inputs() const override { return inputs_; }
  [[nodiscard]] const std::vector<TensorInfo>& outputs() const override { return outputs_; }
  [[nodiscard]] std::vector<Tensor> run(const Sample& sample) override;

 private:
  void read_inputs();
  void read_outputs();
  void watch_inputs(const Sample& sample) const;
  void watch_outputs(const std::vector<Ort::Value>& values) const;
  [[nodiscard]] std::vector<Ort::Value> run_session(const Sample& sample);

  std::shared_ptr<Runtime> runtime_;
  Prepared prepared_;
  std::vector<std::string> watch_;
  WatchCallback on_value_;
  Canceller canceller_;
  // The session uses domains, ops and sink, so they are declared before it and live longer.
  std::unique_ptr<WatchSink> sink_{};
  std::unique_ptr<WatchOp> op_{};
  Ort::CustomOpDomain domain_{nullptr};
  TargetOps target_ops_{};
  Ort::Session session_{nullptr};
  std::vector<TensorInfo> inputs_{};
  std::vector<TensorInfo> outputs_{};
  /// Watched tensors that are fetched: index into watch_, place in fetches_.
  std::vector<std::pair<std::size_t, std::size_t>> watched_fetches_{};
  std::vector<std::string> fetches_{};  ///< outputs_, then what is fetched only to be watched
};

}  // namespace halfstep::ort
