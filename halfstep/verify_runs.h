#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/engines/engine.h"
#include "halfstep/engines/qnn/client.h"
#include "halfstep/model/model.h"
#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/verify_dumps.h"
#include "halfstep/verify_subject.h"

/// The sides that `halfstep verify` compares, one sample at a time.
namespace halfstep {

/// By tensor its values in the model's order of axes; empty where there are none.
using TensorValues = std::vector<std::vector<float>>;

/// Where the target's values come from.
class TargetRun {
 public:
  virtual ~TargetRun() = default;
  /// The tensors of the next sample.
  [[nodiscard]] virtual TensorValues run(const Sample& sample) = 0;
};

/// The graph, or the DLC if `dlc` is not empty, on the emulator. What is referred to must outlive
/// the run. Errors: those of qnn::Client.
[[nodiscard]] std::unique_ptr<TargetRun> emulator_run(qnn::ClientOptions options,
                                                      const qnn::Graph& graph,
                                                      const std::filesystem::path& dlc,
                                                      const std::vector<VerifiedTensor>& tensors);

/// What a device wrote down. Errors: those of Dumps.
[[nodiscard]] std::unique_ptr<TargetRun> dumped_run(const Dumps& dumps,
                                                    const std::vector<VerifiedTensor>& tensors);

/// A model on the engine, without optimizations, whose tensors stand beside those of the target.
class WatchedRun {
 public:
  /// `names`: by tensor its name in the model; empty: the model has none like it.
  WatchedRun(Engine& engine, const Model& model, const std::vector<std::string>& names, int threads,
             const Progress& progress);
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;
  ~WatchedRun() = default;
  /// Valid until the next run.
  [[nodiscard]] const TensorValues& run(const Sample& sample);

 private:
  void take(std::size_t watch, const WatchedValue& value);

  std::vector<std::vector<std::size_t>> users_{};  ///< by watch: tensors
  TensorValues values_;
  std::unique_ptr<Session> session_{};
};

}  // namespace halfstep
