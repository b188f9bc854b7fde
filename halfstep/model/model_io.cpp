#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "halfstep/model/blob.h"
#include "halfstep/model/check.h"
#include "halfstep/model/expand.h"
#include "halfstep/model/external_data.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"
#include "halfstep/model/model_file.h"
#include "halfstep/model/model_state.h"
#include "halfstep/model/strip.h"
#include "halfstep/model/values.h"
#include "halfstep/model/visit.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

// protobuf can neither read nor write more than this in one message.
constexpr std::uint64_t kMaxMessage = INT_MAX;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  std::string_view advice;
};

constexpr std::array kForeign = {
    Signature{0, "version https://git-lfs",
              "is a Git LFS pointer, not the model itself; fetch it with `git lfs pull`"},
    Signature{0, "PK\x03\x04",
              "is a zip archive (PyTorch, Keras or NumPy); export the model to ONNX first"},
    Signature{4, "TFL3",
              "is a TensorFlow Lite model where an ONNX model is read; load it from its file"},
    Signature{4, "ORTM", "is in ONNX Runtime's own format; use the ONNX file it was made of"},
    Signature{0, "\x89HDF", "is an HDF5 file (Keras); export the model to ONNX first"},
    Signature{0, "GGUF", "is a GGUF file; export the model to ONNX first"},
    Signature{0, "\x80\x02", "is a Python pickle (PyTorch); export the model to ONNX first"},
};

void refuse_foreign(Bytes bytes) {
  if (bytes.empty()) {
    throw Error(ErrorKind::invalid_file, "is empty, expected an ONNX or a TensorFlow Lite model");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Signature& signature : kForeign) {
    if (text.size() > signature.offset &&
        text.substr(signature.offset).starts_with(signature.bytes)) {
      throw Error(ErrorKind::invalid_file, std::string(signature.advice));
    }
  }
}

// "ai.onnx" is another spelling of the default domain that engines take and ONNX's checker does
// not.
void shorten_default_domain(onnx::ModelProto& proto) {
  const auto shorten = [](auto& holder) {
    if (holder.domain() == "ai.onnx") {
      holder.set_domain("");
    }
  };
  for (auto& opset : *proto.mutable_opset_import()) {
    shorten(opset);
  }
  for (auto& function : *proto.mutable_functions()) {
    for (auto& opset : *function.mutable_opset_import()) {
      shorten(opset);
    }
  }
  for_each_node(proto, shorten);
}

onnx::ModelProto parse(const std::string& stripped) {
  onnx::ModelProto proto;
  if (stripped.size() > kMaxMessage) {
    throw Error(ErrorKind::unsupported,
                "more than 2 GB of the model are not weights in raw_data; save it with raw_data or "
                "external data");
  }
  const google::protobuf::LogSilencer quiet;  // the caller hears of it once, from check_names
  if (!proto.ParseFromArray(stripped.data(), static_cast<int>(stripped.size()))) {
    throw Error(ErrorKind::invalid_file,
                "is not an ONNX model nor a TensorFlow Lite one, or a damaged one: protobuf cannot "
                "parse it");
  }
  if (!proto.has_graph() || (!proto.has_ir_version() && proto.opset_import().empty())) {
    throw Error(ErrorKind::invalid_file,
                "is not an ONNX model: it has no graph, IR version or opset");
  }
  shorten_default_domain(proto);
  return proto;
}

void check_sizes(const onnx::ModelProto& proto, std::span<const Blob> blobs) {
  for_each_tensor(proto, [&](const onnx::TensorProto& tensor) {
    const auto token = token_of(tensor);
    if (!token) {
      return;
    }
    const auto expected = byte_size(tensor);
    const std::uint64_t found = blobs[token->index].size();
    if (!expected || *expected != found) {
      throw Error(ErrorKind::invalid_file,
                  describe(tensor) + ": holds " + std::to_string(found) + " bytes, expected " +
                      (expected ? std::to_string(*expected) : "a type and shape of fixed size"));
    }
  });
}

// Data that protobuf itself holds moves out of the message, so that all models look alike.
void move_raw_data_out(onnx::ModelProto& proto, std::vector<Blob>& blobs) {
  for_each_tensor(proto, [&blobs](onnx::TensorProto& tensor) {
    if (tensor.raw_data().size() <= kInlineBytes) {
      return;
    }
    const auto owner = std::make_shared<const std::string>(std::move(*tensor.mutable_raw_data()));
    set_token(tensor, {.index = blobs.size(), .field = 9});
    blobs.push_back({.bytes = std::as_bytes(std::span(*owner)), .owner = owner});
  });
}

void refuse_tokens(const onnx::ModelProto& proto) {
  for_each_tensor(proto, [](const onnx::TensorProto& tensor) {
    if (token_of(tensor)) {
      throw Error(ErrorKind::invalid_argument,
                  describe(tensor) +
                      ": its data lies outside of the message; make the model with clone() "
                      "or from serialize()");
    }
  });
}

void refuse_external(const onnx::ModelProto& proto) {
  for_each_tensor(proto, [](const onnx::TensorProto& tensor) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL && !token_of(tensor)) {
      throw Error(ErrorKind::invalid_file,
                  describe(tensor) +
                      ": has external data, but a model in memory has no directory; load it "
                      "from its file");
    }
  });
}

}  // namespace

Model Model::load(const fs::path& path) {
  auto state = std::make_unique<State>();
  state->name = path.string();
  const auto file = std::make_shared<const MappedFile>(path);
  try {
    refuse_foreign(file->bytes());
    const StrippedModel stripped =
        strip_weights(file->bytes(), [&file](Bytes part) { file->drop(part); });
    file->drop(file->bytes());
    state->proto = parse(stripped.proto);
    for (const Bytes blob : stripped.blobs) {
      state->blobs.push_back({.bytes = blob, .file = file});
    }
    state->files = map_external_data(state->proto, path.parent_path(), state->blobs);
    state->files.insert(state->files.begin(), path);
    check_sizes(state->proto, state->blobs);
    check_model(state->proto);
  } catch (const Error& error) {
    throw error.within(state->name);
  }
  return Model(std::move(state));
}

Model Model::from_bytes(Bytes bytes, std::string name) {
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  try {
    refuse_foreign(bytes);
    const StrippedModel stripped = strip_weights(bytes);
    state->proto = parse(stripped.proto);
    for (const Bytes blob : stripped.blobs) {
      const auto owner = std::make_shared<const std::vector<std::byte>>(blob.begin(), blob.end());
      state->blobs.push_back({.bytes = *owner, .owner = owner});
    }
    refuse_external(state->proto);
    check_sizes(state->proto, state->blobs);
    check_model(state->proto);
  } catch (const Error& error) {
    throw error.within(state->name);
  }
  return Model(std::move(state));
}

Model Model::from_proto(onnx::ModelProto proto, std::string name) {
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  state->proto = std::move(proto);
  try {
    refuse_tokens(state->proto);
    refuse_external(state->proto);
    move_raw_data_out(state->proto, state->blobs);
    check_sizes(state->proto, state->blobs);
    check_model(state->proto);
  } catch (const Error& error) {
    throw error.within(state->name);
  }
  return Model(std::move(state));
}

std::uint64_t Model::serialized_size() const {
  const std::string proto = serialize_message(state_->proto);
  return Expander(std::as_bytes(std::span(proto)), state_->blobs).size();
}

void Model::write(const ByteSink& sink) const {
  const std::string proto = serialize_message(state_->proto);
  Expander(std::as_bytes(std::span(proto)), state_->blobs).write(sink);
}

std::string Model::serialize() const {
  std::string text;
  text.reserve(static_cast<std::size_t>(serialized_size()));
  write([&text](Bytes bytes) {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  return text;
}

void Model::save(const fs::path& path) const {
  ModelFile file(path);
  file.write(*this);
  file.commit();
}

fs::path Model::write_for_engine(const fs::path& directory) const {
  const fs::path path = directory / "model.onnx";
  AtomicFile file(path);
  AtomicFile data(directory / "weights.bin");
  onnx::ModelProto copy = state_->proto;
  make_node_names_unique(*copy.mutable_graph());
  file.write(write_external_data(std::move(copy), state_->blobs, "weights.bin",
                                 [&data](Bytes bytes) { data.write(bytes); }));
  data.commit();
  file.commit();
  return path;
}

}  // namespace halfstep
