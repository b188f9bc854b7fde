#include "halfstep/model/external_data.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "halfstep/model/blob.h"
#include "halfstep/model/values.h"
#include "halfstep/model/visit.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

constexpr std::uint64_t kAlignment = 4096;  // a page: what an engine that maps the file likes best

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::invalid_file, message);
}

struct Reference {
  std::string location{};
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length{};
};

std::uint64_t parse_number(const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) {
    fail("external data: the " + key + " is \"" + text + "\", expected a number of bytes");
  }
  return value;
}

Reference parse_reference(const TensorProto& tensor) {
  Reference reference;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      reference.location = entry.value();
    } else if (entry.key() == "offset") {
      reference.offset = parse_number("offset", entry.value());
    } else if (entry.key() == "length") {
      reference.length = parse_number("length", entry.value());
    }
  }
  const fs::path normal = fs::path(reference.location).lexically_normal();
  if (reference.location.empty() || normal.is_absolute() || *normal.begin() == "..") {
    fail("external data in \"" + reference.location +
         "\": expected a path below the directory of the model");
  }
  return reference;
}

class Mapper {
 public:
  Mapper(const fs::path& directory, std::vector<Blob>& blobs)
      : directory_(directory), blobs_(blobs) {}

  void map(TensorProto& tensor, bool inline_always) {
    if (tensor.data_location() != TensorProto::EXTERNAL || token_of(tensor)) {
      return;
    }
    try {
      const Blob blob = find(tensor);
      if (inline_always || blob.bytes.size() <= kInlineBytes) {
        clear_data(tensor);
        tensor.set_raw_data(blob.bytes.data(), blob.bytes.size());
      } else {
        set_token(tensor, {.index = blobs_.size(), .field = 9});
        blobs_.push_back(blob);
      }
    } catch (const Error& error) {
      throw error.within(describe(tensor));
    }
  }

  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> paths;
    for (const auto& [location, file] : files_) {
      paths.push_back(file->path());
    }
    return paths;
  }

 private:
  Blob find(const TensorProto& tensor) {
    const Reference reference = parse_reference(tensor);
    const std::optional<std::uint64_t> expected = byte_size(tensor);
    if (!expected) {
      fail("external data of a type without a fixed size");
    }
    if (reference.length && *reference.length != *expected) {
      fail("external data of " + std::to_string(*reference.length) + " bytes, expected " +
           std::to_string(*expected) + " for its shape and type");
    }
    const std::shared_ptr<const MappedFile>& file = open(reference.location);
    const std::size_t size = file->bytes().size();
    if (reference.offset > size || *expected > size - reference.offset) {
      fail("external data at bytes " + std::to_string(reference.offset) + " to " +
           std::to_string(reference.offset + *expected) + " of \"" + reference.location +
           "\", which has only " + std::to_string(size) +
           " bytes; the file is truncated or of another model");
    }
    return {.bytes = file->bytes().subspan(static_cast<std::size_t>(reference.offset),
                                           static_cast<std::size_t>(*expected)),
            .file = file};
  }

  const std::shared_ptr<const MappedFile>& open(const std::string& location) {
    std::shared_ptr<const MappedFile>& file = files_[location];
    if (!file) {
      file = std::make_shared<const MappedFile>(directory_ / location);
    }
    return file;
  }

  const fs::path& directory_;
  std::vector<Blob>& blobs_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_{};
};

void set_reference(TensorProto& tensor, const std::string& location, std::uint64_t offset,
                   std::uint64_t length) {
  clear_data(tensor);
  tensor.set_data_location(TensorProto::EXTERNAL);
  const auto add = [&tensor](const char* key, const std::string& value) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", location);
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
}

}  // namespace

std::vector<fs::path> map_external_data(onnx::ModelProto& model, const fs::path& directory,
                                        std::vector<Blob>& blobs) {
  Mapper mapper(directory, blobs);
  for_each_tensor(model, [&](TensorProto& tensor) { mapper.map(tensor, false); });
  for_each_sparse_tensor(model, [&](onnx::SparseTensorProto& sparse) {
    mapper.map(*sparse.mutable_values(), true);
    mapper.map(*sparse.mutable_indices(), true);
  });
  return mapper.files();
}

std::string write_external_data(onnx::ModelProto model, std::span<const Blob> blobs,
                                const std::string& location,
                                const std::function<void(std::span<const std::byte>)>& sink) {
  std::map<std::size_t, std::uint64_t>
      offsets;  // of blobs written already: shared data stays shared
  std::uint64_t end = 0;
  for_each_tensor(model, [&](TensorProto& tensor) {
    const auto token = token_of(tensor);
    if (!token) {
      return;
    }
    const Blob& blob = blobs[token->index];
    const auto [found, is_new] = offsets.try_emplace(token->index, 0);
    if (is_new) {
      constexpr std::array<std::byte, kAlignment> kPadding{};
      const std::uint64_t padding = (kAlignment - end % kAlignment) % kAlignment;
      sink(std::span(kPadding).first(static_cast<std::size_t>(padding)));
      found->second = end + padding;
      write_blob(blob, sink);
      end = found->second + blob.size();
    }
    set_reference(tensor, location, found->second, blob.size());
  });
  return serialize_message(model);
}

}  // namespace halfstep
