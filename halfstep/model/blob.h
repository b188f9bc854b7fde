#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

#include "halfstep/support/byte_sink.h"
#include "halfstep/support/file.h"

namespace halfstep {

/// Tensor data outside of the ModelProto: a part of a mapped file, owned memory, or a recipe by
/// which it is made whenever it is written.
struct Blob {
  std::span<const std::byte> bytes{};
  std::shared_ptr<const MappedFile> file{};        ///< keeps `bytes` mapped
  std::shared_ptr<const void> owner{};             ///< keeps `bytes` if they are no file's
  std::shared_ptr<const ByteProducer> producer{};  ///< makes the data; then `bytes` is empty
  [[nodiscard]] std::uint64_t size() const noexcept {
    return producer ? producer->size : bytes.size();
  }
};

/// Stands in a TensorProto for a blob. It is written as an external data entry, so that ONNX's own
/// code refuses to read such a tensor instead of taking the token for numbers.
struct BlobToken {
  std::size_t index = 0;
  std::uint32_t field =
      0;  ///< the TensorProto field the bytes belong to: raw_data, float_data, double_data
};

/// Data up to this size stays in the ModelProto, where shape inference can read it.
inline constexpr std::size_t kInlineBytes = 4096;

inline constexpr std::string_view kTokenPrefix = "halfstep:blob:";

[[nodiscard]] std::string token_text(const BlobToken& token);
/// Empty if `text` is the location of a real file.
[[nodiscard]] std::optional<BlobToken> parse_token(std::string_view text) noexcept;
[[nodiscard]] std::optional<BlobToken> token_of(const onnx::TensorProto& tensor) noexcept;
/// Makes `tensor` stand for a blob; all other data of it is cleared.
void set_token(onnx::TensorProto& tensor, const BlobToken& token);
/// Hands the bytes to `sink` in pieces and lets their pages go, so that a large tensor is never
/// resident as a whole. Errors: internal if a producer makes another number of bytes than it said.
void write_blob(const Blob& blob, const ByteSink& sink);
/// The wire format of `model` as it is, tokens included.
[[nodiscard]] std::string serialize_message(const onnx::ModelProto& model);
/// Clears every field that holds or locates data.
void clear_data(onnx::TensorProto& tensor);

}  // namespace halfstep
