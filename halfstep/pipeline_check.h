#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/calibration/calibrate.h"
#include "halfstep/evaluation/probe.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/pipeline.h"

namespace halfstep {

/// Watches the float run of the first samples and compares the written model with it.
/// Memory: inputs and outputs of the check samples, and a part of each observed tensor.
class QuantizedCheck {
 public:
  QuantizedCheck(const GraphIndex& graph, const std::vector<ObservedTensor>& tensors,
                 std::size_t samples);

  /// Adds the hooks that remember the float run.
  void attach(CalibrateOptions& options);
  [[nodiscard]] std::size_t samples() const noexcept { return inputs_.size(); }

  /// Runs the Q/DQ model (the file if `path` is not empty) over the remembered samples, without the
  /// engine's optimizations: that is what the encodings say. Then once with all of them: a result
  /// that is much further from float is a warning ("check/optimized-differs").
  void run(Engine& engine, const Model& qdq, const std::filesystem::path& path, int threads,
           Progress& progress, Diagnostics& diagnostics);

  [[nodiscard]] std::vector<OutputError> outputs() const;
  /// The `count` tensors with the lowest SQNR, each with its likely cause and what would help.
  [[nodiscard]] std::vector<TensorError> worst(std::size_t count,
                                               const EncodingTable& encodings) const;

 private:
  /// Adds the errors of one sample's outputs.
  void compare_outputs(std::size_t sample, const std::vector<Tensor>& outputs);
  /// Says which outputs have no SQNR, and why.
  void report_uncompared(Diagnostics& diagnostics) const;
  std::unique_ptr<Session> open(Engine& engine, const Model& qdq, const std::filesystem::path& path,
                                const SessionOptions& options) const;
  void compare_optimized(Engine& engine, const Model& qdq, const std::filesystem::path& path,
                         int threads, Diagnostics& diagnostics) const;

  std::vector<std::string> tensors_{};
  std::vector<std::string> op_types_{};  // of the producers
  Probe probe_;
  std::vector<Sample> inputs_{};
  std::vector<std::vector<Tensor>> float_outputs_{};
  std::vector<std::string> output_names_{};
  std::vector<ErrorPower> output_errors_{};
  std::vector<std::string> uncompared_{};  // by output: why it was not compared; may be empty
  std::size_t wanted_ = 0;
  int nodes_ = 0;  ///< of the float model
};

}  // namespace halfstep
