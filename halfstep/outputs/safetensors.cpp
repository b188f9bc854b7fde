#include "halfstep/outputs/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "halfstep/core/minifloat.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"
#include "halfstep/support/temporaries.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCodesOfWord = 8;  // int4 codes in an I32

std::size_t element_size(const std::string& dtype) {
  const bool bytes = dtype == "BOOL" || dtype.ends_with('8') || dtype.starts_with("F8");
  return bytes ? 1
               : static_cast<std::size_t>(std::stoi(dtype.substr(dtype.find_first_of("1346")))) / 8;
}

ByteProducer raw_bytes(std::vector<std::byte> bytes) {
  return {.size = bytes.size(),
          .write = [bytes = std::move(bytes)](const ByteSink& sink) { sink(bytes); }};
}

SafeTensorOut shape_tensor(const std::string& name, const Shape& shape) {
  const auto bytes = std::as_bytes(std::span(shape));
  return {.name = name + "_shape",
          .dtype = "I64",
          .shape = {static_cast<std::int64_t>(shape.size())},
          .data = raw_bytes({bytes.begin(), bytes.end()})};
}

/// Signed 4-bit codes as they are, in offset binary if `offset`.
ByteProducer codes_of(const std::shared_ptr<WeightStream>& stream, const std::string& name,
                      bool offset) {
  return {.size = stream->codes_size(), .write = [=](const ByteSink& sink) {
            constexpr std::byte kEight{0x88};
            std::vector<std::byte> moved;
            try {
              stream->write_codes([&](std::span<const std::byte> codes) {
                if (offset) {
                  moved.resize(codes.size());
                  std::ranges::transform(codes, moved.begin(),
                                         [&](std::byte pair) { return pair ^ kEight; });
                }
                sink(offset ? std::span<const std::byte>(moved) : codes);
              });
            } catch (const Error& error) {
              throw error.within("tensor \"" + name + "\"");
            }
          }};
}

SafeTensorOut scale_tensor(const std::string& name, const std::shared_ptr<WeightStream>& stream,
                           bool exponents) {
  const UnitGrid& grid = stream->grid();
  const auto units = static_cast<std::uint64_t>(grid.units());
  const auto write = [stream, exponents](const ByteSink& sink) {
    const std::vector<float>& scale = stream->parameters().scale;
    if (exponents) {
      std::vector<std::byte> codes;
      codes.reserve(scale.size());
      std::ranges::transform(scale, std::back_inserter(codes),
                             [](float value) { return std::byte{float_to_e8m0(value)}; });
      sink(codes);
    } else {
      sink(std::as_bytes(std::span(scale)));
    }
    stream->drop_parameters();
  };
  return {.name = name + "_scale",
          .dtype = exponents ? "U8" : "F32",
          .shape = units == 1 ? Shape{1} : grid.counts,
          .data = {.size = units * (exponents ? 1 : sizeof(float)), .write = write}};
}

/// The shape of codes of which `per_word` fill one element along the last axis.
Shape packed_shape(const Shape& shape, std::int64_t per_word) {
  if (shape.empty() || shape.back() % per_word != 0) {
    throw Error(ErrorKind::unsupported, "the last axis of shape " + to_text(shape) +
                                            " does not fill whole words of " +
                                            std::to_string(per_word) +
                                            " codes; keep it float with --exclude, or choose w8");
  }
  Shape packed = shape;
  packed.back() /= per_word;
  return packed;
}

/// In the given order if every tensor is aligned then, else those of larger elements first.
void align(std::vector<SafeTensorOut>& tensors) {
  std::uint64_t end = 0;
  bool aligned = true;
  for (const SafeTensorOut& tensor : tensors) {
    aligned = aligned && end % element_size(tensor.dtype) == 0;
    end += tensor.data.size;
  }
  if (!aligned) {
    std::ranges::stable_sort(tensors, std::greater<>(), [](const SafeTensorOut& tensor) {
      return element_size(tensor.dtype);
    });
  }
}

std::string header_text(const std::vector<SafeTensorOut>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  std::uint64_t end = 0;
  for (const SafeTensorOut& tensor : tensors) {
    if (header.contains(tensor.name)) {
      throw Error(ErrorKind::invalid_file,
                  "two tensors would be called \"" + tensor.name +
                      "\"; the model seems to be quantized already. Keep it float with --exclude");
    }
    const std::uint64_t begin = std::exchange(end, end + tensor.data.size);
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data is aligned then
  return text;
}

}  // namespace

Dtype safetensors_storage(Dtype dtype, const Shape& shape) {
  if (is_signed_integer(dtype) && bits(dtype) <= 8) {
    const bool fills_words = !shape.empty() && shape.back() % kCodesOfWord == 0;
    return bits(dtype) <= 4 && fills_words ? Dtype::int4 : Dtype::int8;
  }
  if (dtype == Dtype::float4_e2m1fn_x2 || dtype == Dtype::float8_e4m3fn ||
      dtype == Dtype::float8_e5m2) {
    return dtype;
  }
  throw Error(ErrorKind::unsupported, "weights in " + std::string(name(dtype)) +
                                          " have no form in safetensors files; choose int8, int4, "
                                          "float4_e2m1fn, float8_e4m3fn or float8_e5m2");
}

std::string safetensors_format(Dtype stored) {
  return stored == Dtype::int4               ? "pack-quantized"
         : stored == Dtype::int8             ? "int-quantized"
         : stored == Dtype::float4_e2m1fn_x2 ? "mxfp4-pack-quantized"
                                             : "float-quantized";
}

std::vector<SafeTensorOut> stored_tensors(const std::string& name,
                                          const std::shared_ptr<WeightStream>& stream) {
  if (stream->has_zero_points()) {
    throw Error(ErrorKind::unsupported,
                "zero points have no form in safetensors files; choose a symmetric scheme");
  }
  const Shape& shape = stream->shape();
  const Dtype stored = safetensors_storage(stream->outline().dtype, shape);
  switch (stored) {
    case Dtype::int4:
      return {{.name = name + "_packed",
               .dtype = "I32",
               .shape = packed_shape(shape, kCodesOfWord),
               .data = codes_of(stream, name, true)},
              scale_tensor(name, stream, false),
              shape_tensor(name, shape)};
    case Dtype::float4_e2m1fn_x2:
      return {{.name = name + "_packed",
               .dtype = "U8",
               .shape = packed_shape(shape, 2),
               .data = codes_of(stream, name, false)},
              scale_tensor(name, stream, true)};
    default:
      return {{.name = name,
               .dtype = stored == Dtype::int8            ? "I8"
                        : stored == Dtype::float8_e4m3fn ? "F8_E4M3"
                                                         : "F8_E5M2",
               .shape = shape,
               .data = codes_of(stream, name, false)},
              scale_tensor(name, stream, false)};
  }
}

SafeTensorsOutput::SafeTensorsOutput(fs::path path, bool folder)
    : path_(std::move(path)), folder_(folder) {
  if (folder_ && !path_.has_filename()) {
    path_ = path_.parent_path();  // "out/" is "out"
  }
}

SafeTensorsOutput::Part& SafeTensorsOutput::open(const std::string& file_name) {
  fs::path place = path_;
  if (folder_ && fs::is_directory(path_)) {
    place /= file_name;
  } else if (folder_) {
    place += "." + file_name;  // without a name beside the folder that is not there yet
  }
  parts_.push_back({.name = file_name, .file = std::make_unique<AtomicFile>(place)});
  return parts_.back();
}

void SafeTensorsOutput::add(const std::string& file_name, std::vector<SafeTensorOut> tensors,
                            const std::map<std::string, std::string>& metadata,
                            const std::function<void(std::uint64_t)>& on_bytes) {
  align(tensors);
  const std::string header = header_text(tensors, metadata);
  AtomicFile& file = *open(file_name).file;
  const std::uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const SafeTensorOut& tensor : tensors) {
    std::uint64_t made = 0;
    tensor.data.write([&](std::span<const std::byte> bytes) {
      made += bytes.size();
      file.write(bytes);
      on_bytes(size());
    });
    if (made != tensor.data.size) {
      throw Error(ErrorKind::internal, "tensor \"" + tensor.name + "\" has " +
                                           std::to_string(made) + " bytes, expected " +
                                           std::to_string(tensor.data.size));
    }
  }
}

void SafeTensorsOutput::add_text(const std::string& file_name, const std::string& text) {
  open(file_name).file->write(text);
}

std::uint64_t SafeTensorsOutput::size() const noexcept {
  std::uint64_t all = 0;
  for (const Part& part : parts_) {
    all += part.file->size();
  }
  return all;
}

void SafeTensorsOutput::commit() {
  if (!folder_ || fs::is_directory(path_)) {
    if (folder_) {
      std::error_code ignored;
      fs::remove(path_ / parts_.back().name, ignored);  // no old index over new files
    }
    for (const Part& part : parts_) {
      part.file->commit();
    }
    return;
  }
  fs::path temporary = path_;
  temporary.replace_filename("." + path_.filename().string() + ".tmp");
  const RegisteredTemporary registered(temporary);
  std::error_code error;
  fs::remove_all(temporary, error);  // what a run left that was killed just here
  fs::create_directory(temporary, error);
  for (const Part& part : parts_) {
    part.file->commit_as(temporary / part.name);
  }
  fs::rename(temporary, path_, error);
  if (error) {
    const std::string why = error.message();
    fs::remove_all(temporary, error);
    throw Error(ErrorKind::io, "can't be written: " + why).within(path_.string());
  }
}

}  // namespace halfstep
