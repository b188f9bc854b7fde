#include "halfstep/verify_dumps.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "halfstep/calibration/byte_stream.h"
#include "halfstep/calibration/npy.h"
#include "halfstep/engines/feed.h"
#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/support/error.h"
#include "halfstep/verify_values.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kResult = "Result_";

/// N of "Result_N".
std::optional<std::size_t> number_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::size_t number = 0;
  if (!name.starts_with(kResult)) {
    return std::nullopt;
  }
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kResult.size(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::string sanitized(std::string name) {
  std::ranges::replace_if(
      name,
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'));
      },
      '_');
  return name;
}

[[noreturn]] void refuse(const fs::path& file, const VerifiedTensor& tensor,
                         const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::invalid_file, file.string() + ": tensor \"" + tensor.name + "\": found " +
                                           found + "; expected " + expected);
}

/// "1568 bytes (ufixed8 [1, 14, 14, 8]) or 6272 (float32)"
std::string expected_sizes(const VerifiedTensor& tensor, std::size_t own, std::size_t floats) {
  const std::string text = std::to_string(own) + " bytes (" +
                           std::string(qnn::name_of(tensor.stored.type)) + " " +
                           to_text(stored_extents(tensor.stored)) + ")";
  return own == floats ? text : text + " or " + std::to_string(floats) + " (float32)";
}

std::vector<float> read_raw(const fs::path& file, const VerifiedTensor& tensor) {
  const std::size_t own = qnn::byte_size(tensor.stored);
  const std::size_t floats = own / qnn::storage_size(tensor.stored.type) * sizeof(float);
  FileStream stream(file);
  if (stream.size() != own && stream.size() != floats) {
    refuse(file, tensor, std::to_string(stream.size()) + " bytes",
           expected_sizes(tensor, own, floats));
  }
  std::vector<std::byte> bytes(stream.size());
  stream.read(bytes);
  std::vector<float> values;
  if (bytes.size() == own) {
    values = decoded(tensor.stored, bytes);
  } else {
    values.resize(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return in_model_order(values, stored_extents(tensor.stored), tensor.layout);
}

/// The type that NumPy gives to what is stored.
std::optional<Dtype> array_type(qnn::DataType type) {
  using qnn::DataType;
  static const std::map<DataType, Dtype> kTypes = {
      {DataType::int8, Dtype::int8},       {DataType::sfixed8, Dtype::int8},
      {DataType::int16, Dtype::int16},     {DataType::sfixed16, Dtype::int16},
      {DataType::int32, Dtype::int32},     {DataType::sfixed32, Dtype::int32},
      {DataType::int64, Dtype::int64},     {DataType::uint8, Dtype::uint8},
      {DataType::ufixed8, Dtype::uint8},   {DataType::uint16, Dtype::uint16},
      {DataType::ufixed16, Dtype::uint16}, {DataType::uint32, Dtype::uint32},
      {DataType::ufixed32, Dtype::uint32}, {DataType::float16, Dtype::float16},
      {DataType::float32, Dtype::float32}, {DataType::bool8, Dtype::boolean}};
  const auto found = kTypes.find(type);
  return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

std::vector<float> read_npy(const fs::path& file, const VerifiedTensor& tensor) {
  Tensor array;
  try {
    array = NpyArray(std::make_unique<FileStream>(file)).read();
  } catch (const Error& error) {
    throw error.within(file.string());
  }
  const Shape stored = stored_extents(tensor.stored);
  const Shape shape = model_shape(stored, tensor.layout);
  const std::optional<Dtype> own = array_type(tensor.stored.type);
  const bool floats = array.dtype == Dtype::float32;
  if ((array.shape != stored && array.shape != shape) || (!floats && array.dtype != own)) {
    refuse(file, tensor, type_text(array.dtype, array.shape),
           (own ? std::string(name(*own)) : "float32") + " or float32, " + to_text(stored) +
               (shape == stored ? "" : " or " + to_text(shape)));
  }
  const std::span<const std::byte> bytes(array.data, array.bytes());
  std::vector<float> values;
  if (floats) {
    values.resize(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
  } else {
    values = decoded(tensor.stored, bytes);
  }
  return array.shape == stored ? in_model_order(values, stored, tensor.layout) : values;
}

}  // namespace

Dumps::Dumps(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw Error(ErrorKind::invalid_file,
                folder.string() +
                    (fs::exists(folder, error) ? " is no folder" : " does not exist") +
                    "; expected a folder of dumps: Result_0/TENSOR.raw, Result_1/TENSOR.raw, ...");
  }
  std::map<std::size_t, fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::optional<std::size_t> number = number_of(entry.path());
    if (number && entry.is_directory(error)) {
      found.emplace(*number, entry.path());
    }
  }
  for (const auto& [number, path] : found) {
    if (number != samples_.size()) {
      throw Error(ErrorKind::invalid_file, folder.string() + ": found " + path.filename().string() +
                                               " but no Result_" + std::to_string(samples_.size()) +
                                               "; expected one folder per sample, from 0");
    }
    samples_.push_back(path);
  }
  if (samples_.empty()) {
    samples_.push_back(folder);
  }
}

std::optional<fs::path> Dumps::file_of(std::size_t sample, const VerifiedTensor& tensor) const {
  const std::string folder = samples_.at(sample).string() + "/";
  for (const std::string& name :
       {tensor.name, tensor.stored.name, sanitized(tensor.name), sanitized(tensor.stored.name)}) {
    if (name.empty() || name.find("..") != std::string::npos) {
      continue;  // never out of the folder
    }
    for (const char* ending : {".raw", "_native.raw", ".npy"}) {
      std::error_code error;
      fs::path file = folder + name + ending;
      if (fs::is_regular_file(file, error)) {
        return file;
      }
    }
  }
  return std::nullopt;
}

std::vector<float> Dumps::read(const fs::path& file, const VerifiedTensor& tensor) {
  return file.extension() == ".npy" ? read_npy(file, tensor) : read_raw(file, tensor);
}

}  // namespace halfstep
