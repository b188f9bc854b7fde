#include "halfstep/frontends/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the limit of the format's own library
constexpr std::string_view kMetadata = "__metadata__";

constexpr auto kTypes = std::to_array<std::pair<std::string_view, std::size_t>>({{"BOOL", 1},
                                                                                 {"U8", 1},
                                                                                 {"I8", 1},
                                                                                 {"F8_E5M2", 1},
                                                                                 {"F8_E4M3", 1},
                                                                                 {"F8_E8M0", 1},
                                                                                 {"I16", 2},
                                                                                 {"U16", 2},
                                                                                 {"F16", 2},
                                                                                 {"BF16", 2},
                                                                                 {"I32", 4},
                                                                                 {"U32", 4},
                                                                                 {"F32", 4},
                                                                                 {"C64", 8},
                                                                                 {"F64", 8},
                                                                                 {"I64", 8},
                                                                                 {"U64", 8}});

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::invalid_file, message);
}

std::uint64_t header_length(Bytes bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return length;
}

Bytes header_of(Bytes bytes) {
  if (bytes.size() < kLengthBytes) {
    fail("has " + std::to_string(bytes.size()) +
         " bytes, too few for a safetensors file; it is truncated or something else");
  }
  const std::uint64_t length = header_length(bytes);
  if (length > kMaxHeader || length > bytes.size() - kLengthBytes) {
    fail("the header should have " + std::to_string(length) + " bytes, but " +
         std::to_string(bytes.size() - kLengthBytes) +
         " follow; the file is truncated, or no safetensors file");
  }
  return bytes.subspan(kLengthBytes, static_cast<std::size_t>(length));
}

std::uint64_t whole_number(const Json& json, const char* what) {
  if (!json.is_number_unsigned()) {
    fail(std::string(what) + " has " + json.dump() + ", expected whole numbers of 0 or more");
  }
  return json.get<std::uint64_t>();
}

const Json& member(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end()) {
    fail("has no \"" + std::string(key) + "\"; expected dtype, shape and data_offsets");
  }
  return *found;
}

/// Shape, and the bytes it takes. Errors: invalid_file for more than 2^63 of them.
std::pair<Shape, std::uint64_t> shape_in(const Json& entry, std::size_t element) {
  const Json& list = member(entry, "shape");
  if (!list.is_array()) {
    fail("the shape is " + list.dump() + ", expected a list");
  }
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  Shape shape;
  std::uint64_t size = element;
  for (const Json& extent : list) {
    const std::uint64_t value = whole_number(extent, "the shape");
    if (value > kMost || (value != 0 && size > kMost / value)) {
      fail("shape " + list.dump() + " is too large for any file");
    }
    size *= value;
    shape.push_back(static_cast<std::int64_t>(value));
  }
  return {shape, size};
}

SafeTensor tensor_in(const std::string& name, const Json& entry, Bytes data) {
  if (!entry.is_object()) {
    fail("is " + entry.dump() + ", expected an object");
  }
  const Json& dtype = member(entry, "dtype");
  const std::string type = dtype.is_string() ? dtype.get<std::string>() : dtype.dump();
  const std::size_t element = safetensors_size(type);
  if (element == 0) {
    fail("the dtype is " + type + ", expected one such as F32, F16 or BF16");
  }
  const auto [shape, size] = shape_in(entry, element);
  const Json& offsets = member(entry, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) {
    fail("data_offsets is " + offsets.dump() + ", expected [begin, end]");
  }
  const std::uint64_t begin = whole_number(offsets[0], "data_offsets");
  const std::uint64_t end = whole_number(offsets[1], "data_offsets");
  if (begin > end || end > data.size()) {
    fail("data_offsets " + offsets.dump() + " lie outside of the " + std::to_string(data.size()) +
         " bytes of data; the file is truncated");
  }
  if (end - begin != size) {
    fail("data_offsets " + offsets.dump() + " span " + std::to_string(end - begin) + " bytes, " +
         type + " of shape " + to_text(shape) + " takes " + std::to_string(size));
  }
  return {.name = name,
          .dtype = type,
          .shape = shape,
          .bytes = data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size))};
}

std::map<std::string, std::string> metadata_in(const Json& json) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      fail("__metadata__: \"" + key + "\" is " + value.dump() + ", expected a text");
    }
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// One after the other, from the first byte of the data to the last.
void check_places(const std::vector<SafeTensor>& tensors, Bytes data) {
  const std::byte* end = data.data();
  for (const SafeTensor& tensor : tensors) {
    if (tensor.bytes.data() != end) {
      fail(
          "tensor \"" + tensor.name + "\" begins at byte " +
          std::to_string(tensor.bytes.data() - data.data()) + " of the data, expected " +
          std::to_string(end - data.data()) +
          (tensor.bytes.data() < end ? ": it overlaps another one" : ": there is a gap before it"));
    }
    end += tensor.bytes.size();
  }
  if (end != data.data() + data.size()) {
    fail("the tensors end at byte " + std::to_string(end - data.data()) + " of " +
         std::to_string(data.size()) + " bytes of data; the rest belongs to none");
  }
}

SafeTensorsFile read_file(const fs::path& path) {
  SafeTensorsFile result{.file = std::make_shared<const MappedFile>(path)};
  try {
    const Bytes bytes = result.file->bytes();
    const Bytes header = header_of(bytes);
    const Bytes data = bytes.subspan(kLengthBytes + header.size());
    const Json json =
        parse_json({reinterpret_cast<const char*>(header.data()), header.size()}, "the header");
    if (!json.is_object()) {
      fail("the header is no JSON object, but begins with " + json.dump().substr(0, 20));
    }
    for (const auto& [name, entry] : json.items()) {
      if (name == kMetadata) {
        result.metadata = metadata_in(entry);
        continue;
      }
      try {
        result.tensors.push_back(tensor_in(name, entry, data));
      } catch (const Error& error) {
        throw error.within("tensor \"" + name + "\"");
      }
    }
    std::ranges::stable_sort(result.tensors, [](const SafeTensor& a, const SafeTensor& b) {
      return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
    });
    check_places(result.tensors, data);
  } catch (const Error& error) {
    throw error.within(path.string());
  }
  return result;
}

/// The files of an index, and which tensor it says is where.
std::map<std::string, std::set<std::string>> read_index(const fs::path& path) {
  const Json json = parse_json(read_text(path), path.string());
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object() || map->empty()) {
    throw Error(ErrorKind::invalid_file,
                "has no \"weight_map\" from tensors to files; is it the index of a model?")
        .within(path.string());
  }
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || fs::path(name).filename() != name || name == "." || name == "..") {
      throw Error(ErrorKind::invalid_file, "tensor \"" + tensor + "\" lies in " + file.dump() +
                                               ", expected the name of a file beside the index")
          .within(path.string());
    }
    files[name].insert(tensor);
  }
  return files;
}

void check_index(const SafeTensorsFile& file, const std::set<std::string>& promised) {
  std::set<std::string> found;
  for (const SafeTensor& tensor : file.tensors) {
    found.insert(tensor.name);
  }
  const auto missing = std::ranges::find_if(
      promised, [&](const std::string& name) { return !found.contains(name); });
  const auto extra = std::ranges::find_if(
      found, [&](const std::string& name) { return !promised.contains(name); });
  if (missing != promised.end()) {
    throw Error(ErrorKind::invalid_file,
                "has no tensor \"" + *missing + "\", but the index says so; one of them is old")
        .within(file.file->path().string());
  }
  if (extra != found.end()) {
    throw Error(ErrorKind::invalid_file, "has the tensor \"" + *extra +
                                             "\", of which the index knows nothing; one of them "
                                             "is old")
        .within(file.file->path().string());
  }
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") {
      paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

void check_names(const SafeTensorsModel& model) {
  std::map<std::string, const SafeTensorsFile*> seen;
  for (const SafeTensorsFile& file : model.files) {
    for (const SafeTensor& tensor : file.tensors) {
      const auto [first, is_new] = seen.emplace(tensor.name, &file);
      if (!is_new) {
        fail("tensor \"" + tensor.name + "\" is in two files, " +
             first->second->file->path().filename().string() + " and " +
             file.file->path().filename().string());
      }
    }
  }
}

}  // namespace

std::size_t safetensors_size(std::string_view dtype) noexcept {
  const auto* row =
      std::ranges::find(kTypes, dtype, &std::pair<std::string_view, std::size_t>::first);
  return row == kTypes.end() ? 0 : row->second;
}

bool is_safetensors(const fs::path& path) noexcept {
  try {
    if (fs::is_directory(path)) {
      return fs::exists(path / kSafeTensorsIndex) || !files_in(path).empty();
    }
    if (path.extension() == ".safetensors") {
      return fs::is_regular_file(path);
    }
    const MappedFile file(path);
    const Bytes bytes = file.bytes();
    return bytes.size() > kLengthBytes && bytes[kLengthBytes] == std::byte{'{'} &&
           header_length(bytes) <= bytes.size() - kLengthBytes;
  } catch (const std::exception&) {
    return false;
  }
}

SafeTensorsModel read_safetensors(const fs::path& path) {
  SafeTensorsModel model{.path = path, .folder = fs::is_directory(path)};
  if (!model.folder) {
    model.files.push_back(read_file(path));
    return model;
  }
  try {
    const fs::path index = path / kSafeTensorsIndex;
    model.indexed = fs::exists(index);
    if (model.indexed) {
      for (const auto& [name, promised] : read_index(index)) {
        model.files.push_back(read_file(path / name));
        check_index(model.files.back(), promised);
      }
    } else {
      for (const fs::path& file : files_in(path)) {
        model.files.push_back(read_file(file));
      }
    }
    if (model.files.empty()) {
      fail("has no .safetensors file and no " + std::string(kSafeTensorsIndex));
    }
    check_names(model);
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorKind::io, "can't be read: " + error.code().message()).within(path.string());
  } catch (const Error& error) {
    throw error.context().front().starts_with(path.string()) ? error : error.within(path.string());
  }
  return model;
}

}  // namespace halfstep
