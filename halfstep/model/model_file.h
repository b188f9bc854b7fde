#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "halfstep/model/model.h"
#include "halfstep/support/file.h"

namespace halfstep {

/// Whether a model that is written gets its weights in a file of external data, `<name>.data`
/// beside it: where one message would pass 2 GB, which protobuf can't read, and where the model
/// itself came with external data and the result would still pass 64 MiB.
[[nodiscard]] bool needs_external_data(const Model& model);
/// Where external data of the model `path` goes.
[[nodiscard]] std::filesystem::path external_data_path(const std::filesystem::path& path);

/// A model on its way to disk, alone or with external data: nothing is there under its names before
/// commit(), whatever happens.
/// Errors: io naming the file.
class ModelFile {
 public:
  explicit ModelFile(std::filesystem::path path);

  /// Streams the model, tensor by tensor; `on_bytes` hears how many bytes were written so far, and
  /// may throw.
  void write(const Model& model, const std::function<void(std::uint64_t)>& on_bytes = {});
  /// The model under a temporary name, to try it before commit; empty if it has external data,
  /// which it names by its final name.
  [[nodiscard]] std::filesystem::path flush();
  /// Bytes written so far, of both files.
  [[nodiscard]] std::uint64_t size() const noexcept;
  /// Both files get their names. A model that is replaced is removed before its data is: at no
  /// moment is there a model with the data of another.
  void commit();

 private:
  std::filesystem::path path_;
  AtomicFile file_;
  std::optional<AtomicFile> data_{};
};

}  // namespace halfstep
