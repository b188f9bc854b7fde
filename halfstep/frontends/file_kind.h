#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace halfstep {

/// The forms of models, and of what users take for one.
enum class FileKind : std::uint8_t {
  onnx,  ///< also everything that is none of the others
  tflite,
  saved_model,        ///< a folder with saved_model.pb
  frozen_graph,       ///< a TensorFlow GraphDef
  graph_text,         ///< a GraphDef or SavedModel as text
  meta_graph,         ///< the .meta beside a TensorFlow checkpoint
  checkpoint_folder,  ///< weights of TensorFlow
  keras,              ///< a .keras archive
  hdf5,               ///< Keras before version 3: a model, or weights
  exported_program,   ///< torch.export.save: .pt2
  torch_script,
  torch_pickle,  ///< torch.save: a zip archive, or a plain pickle
  safetensors,
  numpy,
  core_ml,
  other_zip,
  other_folder,
};

/// Names of the files in a zip archive, in the order of its directory; none if it is damaged.
[[nodiscard]] std::vector<std::string> zip_names(std::span<const std::byte> bytes);

[[nodiscard]] FileKind kind_of_bytes(std::span<const std::byte> bytes);
[[nodiscard]] FileKind kind_of_folder(const std::filesystem::path& folder);

}  // namespace halfstep
