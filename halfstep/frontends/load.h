#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/progress.h"

namespace halfstep {

/// What some forms of models leave open, and how their framework is reached.
struct LoadOptions {
  std::string signature{};             ///< of a SavedModel; empty: serving_default
  std::vector<std::string> inputs{};   ///< of a frozen graph, as "x:0"; empty: what nothing writes
  std::vector<std::string> outputs{};  ///< of a frozen graph; empty: what nothing reads
  /// Of inputs of a TensorFlow Lite model, where they are others than it was converted with, and of
  /// TorchScript, which may not say them. Other models stay as they are (fix_input_extents).
  std::map<std::string, Shape> extents{};
  std::string python{};  ///< that has the framework; empty: beside this program
  /// A front end that takes longer is stopped.
  std::chrono::milliseconds limit = std::chrono::hours(2);
  Progress* progress = nullptr;  ///< who may cancel a front end; null: nobody
};

/// Reads a model in whichever form it is, told by its content and not by its name (file_kind.h):
/// ONNX (load_onnx), TensorFlow Lite (load_tflite), and through Python in a child process
/// (load_with_python) TensorFlow, Keras and PyTorch. What the source says of quantization stands in
/// the result as QuantizeLinear and DequantizeLinear; extract_qdq() makes an EncodingTable of them.
/// Errors: as theirs; invalid_file for a form that can't be read, with the line that makes one that
/// can; invalid_argument for an option that this form does not have.
[[nodiscard]] Model load_model(const std::filesystem::path& path, const LoadOptions& options,
                               Diagnostics& diagnostics);
[[nodiscard]] Model load_model(const std::filesystem::path& path, Diagnostics& diagnostics,
                               const std::map<std::string, Shape>& extents = {});
/// ONNX or TensorFlow Lite, as the content of a file; `name` stands in messages.
[[nodiscard]] Model model_from_bytes(std::span<const std::byte> bytes, std::string name,
                                     Diagnostics& diagnostics,
                                     const std::map<std::string, Shape>& extents = {});

/// Is this a form that load_model reads through Python?
[[nodiscard]] bool needs_python(const std::filesystem::path& path);

}  // namespace halfstep
