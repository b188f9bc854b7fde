#include "halfstep/model/model_file.h"

#include <climits>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

#include "halfstep/model/external_data.h"
#include "halfstep/model/model_state.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

// protobuf can neither read nor write more than this in one message.
constexpr std::uint64_t kMaxMessage = INT_MAX;
// A model that came with external data becomes one file up to this size.
constexpr std::uint64_t kOneFile = std::uint64_t{64} << 20U;

}  // namespace

bool needs_external_data(const Model& model) {
  const std::uint64_t size = model.serialized_size();
  return size > kMaxMessage || (model.files().size() > 1 && size > kOneFile);
}

fs::path external_data_path(const fs::path& path) {
  fs::path data = path;
  data += ".data";
  return data;
}

ModelFile::ModelFile(fs::path path) : path_(std::move(path)), file_(path_) {}

void ModelFile::write(const Model& model, const std::function<void(std::uint64_t)>& on_bytes) {
  const auto into = [&](AtomicFile& file) {
    return [&](std::span<const std::byte> bytes) {
      file.write(bytes);
      if (on_bytes) {
        on_bytes(size());
      }
    };
  };
  if (!needs_external_data(model)) {
    model.write(into(file_));
    return;
  }
  const fs::path data = external_data_path(path_);
  data_.emplace(data);
  file_.write(write_external_data(model.state_->proto, model.state_->blobs,
                                  data.filename().string(), into(*data_)));
}

fs::path ModelFile::flush() { return data_ ? fs::path() : file_.flush(); }

std::uint64_t ModelFile::size() const noexcept {
  return file_.size() + (data_ ? data_->size() : 0);
}

void ModelFile::commit() {
  if (data_) {
    file_.finish();  // whatever could fail does so before a file is replaced
    data_->finish();
    std::error_code ignored;
    if (fs::is_regular_file(path_, ignored)) {
      fs::remove(fs::canonical(path_), ignored);
    }
    data_->commit();
  }
  file_.commit();
}

}  // namespace halfstep
