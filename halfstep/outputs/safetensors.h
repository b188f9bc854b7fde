#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/encodings/weight_stream.h"
#include "halfstep/support/byte_sink.h"
#include "halfstep/support/file.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {

/// A tensor to be written to a safetensors file.
struct SafeTensorOut {
  std::string name{};
  std::string dtype{};  ///< of the format: "I32"
  Shape shape{};
  ByteProducer data{};
};

/// The tensors that a quantized weight is stored as, named as compressed-tensors names them, so
/// that its readers take them (`name` is that of the float tensor, "x.weight"):
///   int4      <name>_packed I32, 8 codes + 8 each, the first lowest; <name>_scale F32;
///             <name>_shape I64                                                  (pack-quantized)
///   FP4       <name>_packed U8, 2 codes each, the first lowest; <name>_scale U8, the exponents
///             + 127 of powers of two                                      (mxfp4-pack-quantized)
///   int8      <name> I8; <name>_scale F32                                        (int-quantized)
///   float8    <name> F8_E4M3 or F8_E5M2; <name>_scale F32                      (float-quantized)
/// Value = code x scale. A scale tensor has the rank of the weight and one element a unit: per
/// channel [out, 1], blocks of 32 [out, in / 32].
/// Narrower integers are stored in the next wider of these types, and int4 as int8 where its last
/// axis does not fill words of 8 codes.
/// Errors: unsupported naming what the format can't say: other types, zero points, a last axis that
/// does not fill whole words.
/// Source: https://github.com/vllm-project/compressed-tensors (compressors pack_quantized, mxfp4,
/// naive_quantized)
[[nodiscard]] std::vector<SafeTensorOut> stored_tensors(
    const std::string& name, const std::shared_ptr<WeightStream>& stream);
/// The type whose codes hold those of `dtype` in a tensor of `shape`. Errors: as those of
/// stored_tensors().
[[nodiscard]] Dtype safetensors_storage(Dtype dtype, const Shape& shape);
/// compressed-tensors' name of the form: "pack-quantized".
[[nodiscard]] std::string safetensors_format(Dtype stored);

/// Safetensors files, and others, that appear together or not at all: in a folder that comes into
/// being by commit(), or one that is there already, or as one file.
/// Errors: io naming the file.
class SafeTensorsOutput {
 public:
  /// `folder`: `path` is one.
  SafeTensorsOutput(std::filesystem::path path, bool folder);

  /// Streams one file: the header, then the tensors without a gap, each aligned to its elements.
  void add(const std::string& file_name, std::vector<SafeTensorOut> tensors,
           const std::map<std::string, std::string>& metadata,
           const std::function<void(std::uint64_t)>& on_bytes);
  /// A text file beside them, which gets its name last: the index.
  void add_text(const std::string& file_name, const std::string& text);
  [[nodiscard]] std::uint64_t size() const noexcept;
  void commit();

 private:
  struct Part {
    std::string name{};
    std::unique_ptr<AtomicFile> file{};
  };
  Part& open(const std::string& file_name);

  std::filesystem::path path_;
  bool folder_;
  std::vector<Part> parts_{};
};

}  // namespace halfstep
