#include "halfstep/model/blob.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <google/protobuf/stubs/logging.h>

#include "halfstep/support/error.h"

namespace halfstep {

namespace {

void require_same_size(std::uint64_t made, std::uint64_t promised) {
  if (made != promised) {
    throw Error(ErrorKind::internal, "the data of a tensor has " + std::to_string(made) +
                                         " bytes, expected " + std::to_string(promised));
  }
}

}  // namespace

std::string token_text(const BlobToken& token) {
  return std::string(kTokenPrefix) + std::to_string(token.index) + ":" +
         std::to_string(token.field);
}

std::optional<BlobToken> parse_token(std::string_view text) noexcept {
  if (!text.starts_with(kTokenPrefix)) {
    return std::nullopt;
  }
  const char* end = text.data() + text.size();
  BlobToken token;
  const auto index = std::from_chars(text.data() + kTokenPrefix.size(), end, token.index);
  if (index.ec != std::errc() || index.ptr == end || *index.ptr != ':') {
    return std::nullopt;
  }
  const auto field = std::from_chars(index.ptr + 1, end, token.field);
  if (field.ec != std::errc() || field.ptr != end) {
    return std::nullopt;
  }
  return token;
}

std::optional<BlobToken> token_of(const onnx::TensorProto& tensor) noexcept {
  if (tensor.external_data_size() != 1) {
    return std::nullopt;
  }
  return parse_token(tensor.external_data(0).value());
}

void set_token(onnx::TensorProto& tensor, const BlobToken& token) {
  clear_data(tensor);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto* entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value(token_text(token));
}

void write_blob(const Blob& blob, const ByteSink& sink) {
  if (blob.producer) {
    std::uint64_t made = 0;
    blob.producer->write([&](std::span<const std::byte> piece) {
      made += piece.size();
      sink(piece);
    });
    require_same_size(made, blob.producer->size);
    return;
  }
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  for (std::size_t at = 0; at < blob.bytes.size(); at += kPiece) {
    const auto piece = blob.bytes.subspan(at, std::min(kPiece, blob.bytes.size() - at));
    sink(piece);
    if (blob.file) {
      blob.file->drop(piece);
    }
  }
}

std::string serialize_message(const onnx::ModelProto& model) {
  const google::protobuf::LogSilencer quiet;  // it prints about text that is not UTF-8
  return model.SerializeAsString();
}

void clear_data(onnx::TensorProto& tensor) {
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_string_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
}

}  // namespace halfstep
