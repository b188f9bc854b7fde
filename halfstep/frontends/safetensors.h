#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/support/file.h"
#include "halfstep/support/json.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {

/// A tensor of a safetensors file, where it lies.
struct SafeTensor {
  std::string name{};
  std::string dtype{};  ///< as in the file: "BF16"
  Shape shape{};
  std::span<const std::byte> bytes{};  ///< of the mapped file
};

/// One file: a header in JSON, then the tensors without a gap.
struct SafeTensorsFile {
  std::shared_ptr<const MappedFile> file{};
  std::map<std::string, std::string> metadata{};
  std::vector<SafeTensor> tensors{};  ///< in the order in which they lie
};

/// The weights of a model: one file, or a folder of them.
struct SafeTensorsModel {
  std::filesystem::path path{};
  bool folder = false;
  bool indexed = false;                  ///< the folder has an index, model.safetensors.index.json
  std::vector<SafeTensorsFile> files{};  ///< in the order of their names
};

inline constexpr std::string_view kSafeTensorsIndex = "model.safetensors.index.json";

/// Whether `path` is a folder with safetensors files, or such a file: by its name, or because it
/// begins with a length that fits and a brace. Errors: none; what can't be read is none.
[[nodiscard]] bool is_safetensors(const std::filesystem::path& path) noexcept;

/// Reads headers only. Every length, offset and name is checked: data is neither outside of the
/// file nor shared, there are no gaps, no tensor is in two files, and the index says what is there.
/// Errors: invalid_file naming file and tensor, what was found and what was expected.
/// Source: the format's description, https://github.com/huggingface/safetensors#format
[[nodiscard]] SafeTensorsModel read_safetensors(const std::filesystem::path& path);

/// Bytes of one element of a type of the format ("F32"); 0 for one that is not known.
[[nodiscard]] std::size_t safetensors_size(std::string_view dtype) noexcept;

}  // namespace halfstep
