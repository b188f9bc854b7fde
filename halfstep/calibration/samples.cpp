#include "halfstep/calibration/samples.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "halfstep/calibration/cast.h"
#include "halfstep/calibration/npz.h"
#include "halfstep/calibration/sample_sources.h"
#include "halfstep/engines/feed.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kForms =
    "DATA is a folder of .npz files (one sample each, arrays by input name) or .npy files (single "
    "input), or one .npz";

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return extension;
}

bool is_array(const fs::path& path) {
  const std::string extension = lower_extension(path);
  return extension == ".npz" || extension == ".npy";
}

bool is_image(const fs::path& path) {
  static constexpr std::array<std::string_view, 8> kImages = {".png", ".jpg",  ".jpeg", ".bmp",
                                                              ".gif", ".webp", ".tif",  ".tiff"};
  return std::find(kImages.begin(), kImages.end(), lower_extension(path)) != kImages.end();
}

[[noreturn]] void refuse(const fs::path& data, const std::string& what) {
  throw Error(ErrorKind::invalid_file, what).within(data.string());
}

/// Files of a folder with data, in name order. Other files (a README, labels) may lie beside them.
std::vector<fs::path> sample_files(const fs::path& folder) {
  std::vector<fs::path> arrays;
  std::size_t images = 0;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.filename().string().starts_with(".")) {
      continue;
    }
    images += is_image(path) ? 1U : 0U;
    if (is_array(path)) {
      arrays.push_back(path);
    }
  }
  if (error) {
    throw Error(ErrorKind::io, "can't be read: " + error.message()).within(folder.string());
  }
  if (images > 0) {
    refuse(folder, arrays.empty()
                       ? "the folder holds images; --input-spec says how they become input "
                         "(size, mean, std, layout)"
                       : "the folder holds both arrays and images; keep one kind");
  }
  if (arrays.empty()) {
    refuse(folder, "the folder holds no sample (.npz or .npy); " + std::string(kForms));
  }
  std::sort(arrays.begin(), arrays.end());
  return arrays;
}

std::string index_text(std::int64_t position, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return to_text(index);
}

void cast_input(Sample& sample, const TensorInfo& input) {
  const auto found = sample.find(input.name);
  if (found == sample.end() || found->second.dtype == input.dtype) {
    return;
  }
  try {
    found->second = cast_tensor(found->second, input.dtype);
  } catch (const Error& error) {
    throw error.within("input \"" + input.name + "\"");
  }
}

void check_values(const Sample& sample) {
  for (const auto& [name, tensor] : sample) {
    const std::int64_t position = find_nan(tensor);
    if (position >= 0) {
      throw Error(ErrorKind::invalid_file, "input \"" + name + "\" has NaN at index " +
                                               index_text(position, tensor.shape) +
                                               "; samples must not hold NaN");
    }
  }
}

/// The problem again, with the option that would help if it is only the type.
Error with_hint(const Error& error, const Sample& sample, std::span<const TensorInfo> inputs) {
  const bool other_type = std::any_of(inputs.begin(), inputs.end(), [&](const TensorInfo& input) {
    const auto found = sample.find(input.name);
    return found != sample.end() && found->second.dtype != input.dtype;
  });
  return other_type ? Error(error.kind(), std::string(error.what()) +
                                              "; --cast-inputs (cast_inputs) converts types")
                    : error;
}

std::optional<TensorInfo> input_info(const onnx::ValueInfoProto& input) {
  const auto& type = input.type().tensor_type();
  const auto dtype = dtype_from_onnx(type.elem_type());
  if (!input.type().has_tensor_type() || !dtype) {
    return std::nullopt;
  }
  TensorInfo info{.name = input.name(), .dtype = *dtype};
  for (const auto& extent : type.shape().dim()) {
    info.shape.push_back(extent.has_dim_value() ? extent.dim_value() : -1);
  }
  return info;
}

}  // namespace

void check_sample(Sample& sample, std::span<const TensorInfo> inputs, const std::string& where,
                  const SampleOptions& options) {
  try {
    if (options.cast_inputs) {
      for (const TensorInfo& input : inputs) {
        cast_input(sample, input);
      }
    }
    check_feed(sample, inputs);
    check_values(sample);
  } catch (const Error& error) {
    throw with_hint(error, sample, inputs).within(where);
  }
}

std::unique_ptr<SampleSource> open_samples(const fs::path& data, std::span<const TensorInfo> inputs,
                                           const SampleOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(data, error);
  if (!fs::exists(status)) {
    refuse(data, "no such file or folder; check the path");
  }
  if (fs::is_directory(status)) {
    return folder_source(sample_files(data), inputs, options);
  }
  if (is_image(data)) {
    refuse(data, "is an image; give a folder of images and --input-spec");
  }
  if (lower_extension(data) != ".npz") {
    refuse(data, "is not a folder or .npz file; " + std::string(kForms));
  }
  return npz_source(data, inputs, options);
}

std::vector<TensorInfo> sample_inputs(const Model& model) {
  std::set<std::string_view> initializers;
  for (const onnx::TensorProto& initializer : model.graph().initializer()) {
    initializers.insert(initializer.name());
  }
  std::vector<TensorInfo> inputs;
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    if (initializers.contains(input.name())) {
      continue;
    }
    auto info = input_info(input);
    if (!info) {
      throw Error(
          ErrorKind::unsupported,
          "input \"" + input.name() + "\" is not a tensor of numbers; halfstep can't feed it")
          .within(model.name());
    }
    inputs.push_back(std::move(*info));
  }
  return inputs;
}

}  // namespace halfstep
