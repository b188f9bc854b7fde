#include "halfstep/model/model.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/model/blob.h"
#include "halfstep/model/model_state.h"
#include "halfstep/model/values.h"
#include "halfstep/support/error.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {

namespace {

TensorBytes bytes_of(const Blob& blob) {
  if (!blob.producer) {
    return TensorBytes(blob.bytes);
  }
  std::vector<std::byte> made;
  made.reserve(static_cast<std::size_t>(blob.size()));
  write_blob(blob, [&made](std::span<const std::byte> piece) {
    made.insert(made.end(), piece.begin(), piece.end());
  });
  return TensorBytes(std::move(made));
}

}  // namespace

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::clone() const { return Model(std::make_unique<State>(*state_)); }

const std::string& Model::name() const noexcept { return state_->name; }
const std::vector<std::filesystem::path>& Model::files() const noexcept { return state_->files; }
void Model::set_source(std::vector<std::filesystem::path> files, std::uint64_t bytes) {
  state_->files = std::move(files);
  state_->source_size = bytes;
}
std::uint64_t Model::source_size() const {
  return state_->source_size ? *state_->source_size : serialized_size();
}
const onnx::ModelProto& Model::proto() const noexcept { return state_->proto; }
onnx::ModelProto& Model::proto() noexcept { return state_->proto; }

TensorBytes Model::data(const onnx::TensorProto& tensor) const {
  try {
    const std::optional<std::uint64_t> expected = byte_size(tensor);
    if (!expected) {
      throw Error(ErrorKind::unsupported,
                  describe(tensor) + ": has no bytes of a fixed size that could be read");
    }
    if (const auto token = token_of(tensor)) {
      if (token->index >= state_->blobs.size() || state_->blobs[token->index].size() != *expected) {
        throw Error(ErrorKind::internal, describe(tensor) + ": is a tensor of another model");
      }
      return bytes_of(state_->blobs[token->index]);
    }
    if (!tensor.has_raw_data()) {
      return TensorBytes(typed_fields_as_bytes(tensor));
    }
    const auto raw = std::as_bytes(std::span(tensor.raw_data()));
    if (raw.size() != *expected) {
      throw Error(ErrorKind::invalid_file, describe(tensor) + ": holds " +
                                               std::to_string(raw.size()) + " bytes, expected " +
                                               std::to_string(*expected));
    }
    return TensorBytes(std::vector(raw.begin(), raw.end()));
  } catch (const Error& error) {
    throw error.within(name());
  }
}

std::vector<float> Model::floats(const onnx::TensorProto& tensor) const {
  const TensorBytes bytes = data(tensor);
  try {
    return bytes_as_floats(tensor, bytes.span());
  } catch (const Error& error) {
    throw error.within(name());
  }
}

void Model::set_data(onnx::TensorProto& tensor, std::vector<std::byte> bytes) {
  const std::optional<std::uint64_t> expected = byte_size(tensor);
  if (!expected || bytes.size() != *expected) {
    throw Error(ErrorKind::invalid_argument,
                describe(tensor) + ": cannot hold " + std::to_string(bytes.size()) +
                    " bytes, expected " +
                    (expected ? std::to_string(*expected) : "a type of fixed size"));
  }
  if (bytes.size() <= kInlineBytes) {
    clear_data(tensor);
    tensor.set_raw_data(bytes.data(), bytes.size());
    return;
  }
  set_token(tensor, {.index = state_->blobs.size(), .field = 9});
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  state_->blobs.push_back({.bytes = *owner, .owner = owner});
}

void Model::set_producer(onnx::TensorProto& tensor, ByteProducer producer) {
  const std::optional<std::uint64_t> expected = byte_size(tensor);
  require(expected == producer.size,
          describe(tensor) + ": cannot hold " + std::to_string(producer.size) + " bytes");
  set_token(tensor, {.index = state_->blobs.size(), .field = 9});
  state_->blobs.push_back({.producer = std::make_shared<const ByteProducer>(std::move(producer))});
}

std::shared_ptr<const MappedFile> Model::mapped_file(const onnx::TensorProto& tensor) const {
  const auto token = token_of(tensor);
  return token && token->index < state_->blobs.size() ? state_->blobs[token->index].file : nullptr;
}

void Model::drop(const onnx::TensorProto& tensor) const noexcept {
  const auto token = token_of(tensor);
  if (token && token->index < state_->blobs.size()) {
    const Blob& blob = state_->blobs[token->index];
    if (blob.file) {
      blob.file->drop(blob.bytes);
    }
  }
}

Shape shape_of(const onnx::TensorProto& tensor) {
  return {tensor.dims().begin(), tensor.dims().end()};
}

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) {
      return &attribute;
    }
  }
  return nullptr;
}

std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name,
                           std::int64_t fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr ? fallback : attribute->i();
}

}  // namespace halfstep
