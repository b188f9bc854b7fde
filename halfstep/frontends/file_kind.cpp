#include "halfstep/frontends/file_kind.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <system_error>

#include "halfstep/frontends/tflite/tflite.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Little-endian; 0 beyond the end.
std::uint64_t number(Bytes bytes, std::uint64_t offset, std::size_t size) {
  std::uint64_t value = 0;
  if (offset > bytes.size() || bytes.size() - offset < size) {
    return 0;
  }
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
  }
  return value;
}

struct Directory {
  std::uint64_t offset = 0, entries = 0;
};

/// Source: PKWARE's APPNOTE, 4.3.14 to 4.3.16.
Directory directory_of(Bytes bytes) {
  constexpr std::size_t kEnd = 22;
  constexpr std::size_t kLongestComment = 65535;
  constexpr std::uint64_t kElsewhere = 0xFFFFFFFF;
  const std::string_view text = text_of(bytes);
  const std::size_t from = bytes.size() > kEnd + kLongestComment
                               ? bytes.size() - kEnd - kLongestComment
                               : std::size_t{0};
  const std::size_t end = text.substr(from).rfind("PK\x05\x06");
  if (end == std::string_view::npos) {
    return {};
  }
  const std::size_t place = from + end;
  Directory found{.offset = number(bytes, place + 16, 4), .entries = number(bytes, place + 10, 2)};
  if (found.offset == kElsewhere && place >= 20 && text.substr(place - 20, 4) == "PK\x06\x07") {
    const std::uint64_t record = number(bytes, place - 20 + 8, 8);
    found = {.offset = number(bytes, record + 48, 8), .entries = number(bytes, record + 32, 8)};
  }
  return found;
}

/// Reads the tags and lengths that a protobuf message begins with.
class Fields {
 public:
  explicit Fields(Bytes bytes) : bytes_(bytes) {}

  /// The next byte is this tag: it is passed.
  [[nodiscard]] bool tag(unsigned wanted) {
    return at_ < bytes_.size() && std::to_integer<unsigned>(bytes_[at_++]) == wanted;
  }
  /// The length behind a tag; 0 if there is none.
  [[nodiscard]] std::uint64_t length() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ < bytes_.size() && shift < 63; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(bytes_[at_++]);
      value |= (byte & 0x7FU) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    return 0;
  }
  void pass(std::uint64_t count) {
    at_ += static_cast<std::size_t>(std::min<std::uint64_t>(count, bytes_.size() - at_));
  }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
};

// Field 1 of an ONNX model is a number (tag 0x08), of TensorFlow's graphs a message (tag 0x0A).

/// GraphDef.node = 1 holds NodeDef.name = 1 and NodeDef.op = 2.
bool is_graph_def(Bytes bytes) {
  Fields fields(bytes);
  if (!fields.tag(0x0A) || fields.length() == 0 || !fields.tag(0x0A)) {
    return false;
  }
  const std::uint64_t name = fields.length();
  fields.pass(name);
  return name > 0 && fields.tag(0x12);
}

/// MetaGraphDef.meta_info_def = 1 holds stripped_op_list = 2.
bool is_meta_graph(Bytes bytes) {
  Fields fields(bytes);
  return fields.tag(0x0A) && fields.length() > 0 && fields.tag(0x12);
}

bool is_safetensors(Bytes bytes) {
  const std::uint64_t header = number(bytes, 0, 8);
  return header > 1 && header <= bytes.size() - std::min<std::size_t>(bytes.size(), 8) &&
         text_of(bytes).substr(8, 1) == "{";
}

FileKind kind_of_zip(Bytes bytes) {
  const std::vector<std::string> names = zip_names(bytes);
  const auto any = [&](auto predicate) { return std::ranges::any_of(names, predicate); };
  const auto has = [&](std::string_view end) {
    return any([end](const std::string& name) {
      return name == end || name.ends_with("/" + std::string(end));
    });
  };
  const auto inside = [&](std::string_view folder) {
    return any([folder](const std::string& name) {
      return name.find("/" + std::string(folder) + "/") != std::string::npos;
    });
  };
  if (has("model.weights.h5") && has("config.json")) {
    return FileKind::keras;
  }
  if (has("archive_format") || has("serialized_exported_program.json")) {
    return FileKind::exported_program;
  }
  if (has("constants.pkl") && inside("code")) {
    return FileKind::torch_script;
  }
  if (has("data.pkl")) {
    return FileKind::torch_pickle;
  }
  const bool arrays = !names.empty() && std::ranges::all_of(names, [](const std::string& name) {
    return name.ends_with(".npy");
  });
  return arrays ? FileKind::numpy : FileKind::other_zip;
}

struct Beginning {
  std::string_view bytes;
  FileKind kind;
};
using namespace std::string_view_literals;
constexpr std::array kBeginnings = {
    Beginning{"\x89HDF\r\n"sv, FileKind::hdf5},
    Beginning{"\x80\x02"sv, FileKind::torch_pickle},
    Beginning{"\x80\x03"sv, FileKind::torch_pickle},
    Beginning{"\x80\x04"sv, FileKind::torch_pickle},
    Beginning{"\x80\x05"sv, FileKind::torch_pickle},
    Beginning{"\x93NUMPY"sv, FileKind::numpy},
    Beginning{"node {"sv, FileKind::graph_text},
    Beginning{"node{"sv, FileKind::graph_text},
    Beginning{"saved_model_schema_version"sv, FileKind::graph_text},
};

}  // namespace

std::vector<std::string> zip_names(Bytes bytes) {
  constexpr std::size_t kEntry = 46;
  std::vector<std::string> names;
  const Directory directory = directory_of(bytes);
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    const std::uint64_t name = number(bytes, at + 28, 2);
    const std::uint64_t rest = number(bytes, at + 30, 2) + number(bytes, at + 32, 2);
    if (at > bytes.size() || bytes.size() - at < kEntry + name ||
        text_of(bytes).substr(at, 4) != "PK\x01\x02") {
      return {};
    }
    names.emplace_back(text_of(bytes).substr(at + kEntry, name));
    at += kEntry + name + rest;
  }
  return names;
}

FileKind kind_of_bytes(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  if (is_tflite(bytes)) {
    return FileKind::tflite;
  }
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) {
    return kind_of_zip(bytes);
  }
  const auto* row = std::ranges::find_if(
      kBeginnings, [text](const Beginning& b) { return text.starts_with(b.bytes); });
  if (row != kBeginnings.end()) {
    return row->kind;
  }
  if (is_graph_def(bytes)) {
    return FileKind::frozen_graph;
  }
  if (is_meta_graph(bytes)) {
    return FileKind::meta_graph;
  }
  return is_safetensors(bytes) ? FileKind::safetensors : FileKind::onnx;
}

FileKind kind_of_folder(const fs::path& folder) {
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(folder / name, error); };
  if (has("saved_model.pb")) {
    return FileKind::saved_model;
  }
  if (has("saved_model.pbtxt")) {
    return FileKind::graph_text;
  }
  if (has("Manifest.json") && folder.extension() == ".mlpackage") {
    return FileKind::core_ml;
  }
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string extension = entry->path().extension().string();
    if (entry->path().filename() == "checkpoint" || extension == ".index") {
      return FileKind::checkpoint_folder;
    }
    if (extension == ".safetensors") {
      return FileKind::safetensors;
    }
  }
  return FileKind::other_folder;
}

}  // namespace halfstep
