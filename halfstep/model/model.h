#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/core/dtype.h"
#include "halfstep/support/byte_sink.h"
#include "halfstep/support/file.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {

/// The bytes of a tensor: little-endian, row-major, as TensorProto.raw_data has them. Either
/// borrowed from the mapped model file (valid as long as the Model) or owned (typed fields were
/// converted, or the data is made on demand).
class TensorBytes {
 public:
  explicit TensorBytes(std::span<const std::byte> borrowed) : view_(borrowed) {}
  explicit TensorBytes(std::vector<std::byte> owned)
      : owned_(std::make_shared<std::vector<std::byte>>(std::move(owned))), view_(*owned_) {}
  [[nodiscard]] std::span<const std::byte> span() const noexcept { return view_; }
  [[nodiscard]] std::size_t size() const noexcept { return view_.size(); }

 private:
  std::shared_ptr<std::vector<std::byte>> owned_{};
  std::span<const std::byte> view_;
};

/// An ONNX model whose large weights stay in the mapped file (or files of external data) until they
/// are asked for. Everything not understood is kept: custom domains, functions, subgraphs,
/// metadata, unknown fields. Names never change.
class Model {
 public:
  /// Errors: invalid_file (missing, a directory, empty, not an ONNX model, truncated, external data
  /// missing or too short, refused by the ONNX checker with its reason).
  [[nodiscard]] static Model load(const std::filesystem::path& path);
  /// `name` stands in messages.
  [[nodiscard]] static Model from_bytes(std::span<const std::byte> bytes, std::string name);
  [[nodiscard]] static Model from_proto(onnx::ModelProto proto, std::string name);

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model();
  /// A copy that shares the mapped weights.
  [[nodiscard]] Model clone() const;

  /// What messages call the model: its path as given.
  [[nodiscard]] const std::string& name() const noexcept;
  /// The files it was read from: the model's own, then those of external data. Empty for a model
  /// that was made in memory.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept;
  /// Says what the model was made from, for a format that is not ONNX: its files, and their size.
  void set_source(std::vector<std::filesystem::path> files, std::uint64_t bytes);
  /// Size of that; else of the model as ONNX (serialized_size).
  [[nodiscard]] std::uint64_t source_size() const;
  /// The graph. raw_data of large tensors is not in it: read it with data(), set it with
  /// set_data().
  [[nodiscard]] const onnx::ModelProto& proto() const noexcept;
  [[nodiscard]] onnx::ModelProto& proto() noexcept;
  [[nodiscard]] const onnx::GraphProto& graph() const noexcept { return proto().graph(); }
  [[nodiscard]] onnx::GraphProto& graph() noexcept { return *proto().mutable_graph(); }

  /// Bytes of a tensor of this model, wherever they are. 4-bit and 2-bit tensors: packed as ONNX
  /// packs them. Errors: invalid_file naming the tensor if its size does not fit its shape and
  /// type.
  [[nodiscard]] TensorBytes data(const onnx::TensorProto& tensor) const;
  /// Values as float32 (float16, bfloat16, float64, integers converted).
  [[nodiscard]] std::vector<float> floats(const onnx::TensorProto& tensor) const;
  /// Gives `tensor` new content; keeps dims and data_type as they are in `tensor`.
  void set_data(onnx::TensorProto& tensor, std::vector<std::byte> bytes);
  /// Gives `tensor` content that is made when it is asked for: by data(), and piece by piece when
  /// the model is written. Keeps dims and data_type. Errors: invalid_argument if the size does not
  /// fit them.
  void set_producer(onnx::TensorProto& tensor, ByteProducer producer);
  /// The file in which the data of this tensor is mapped; null if it lies in memory.
  [[nodiscard]] std::shared_ptr<const MappedFile> mapped_file(
      const onnx::TensorProto& tensor) const;
  /// Lets the system drop the pages of this tensor's mapped data.
  void drop(const onnx::TensorProto& tensor) const noexcept;

  /// Version of the domain "" (ai.onnx). Raising goes through ONNX's version converter; types,
  /// names, metadata that the converter loses are put back; ir_version is raised with it.
  [[nodiscard]] int opset() const;
  /// Errors: unsupported with the converter's reason and the op.
  void raise_opset(int version);
  void raise_ir_version(int version);

  /// Size of write()'s result in bytes.
  [[nodiscard]] std::uint64_t serialized_size() const;
  /// Streams the model, tensor by tensor, as one message, however large it is.
  void write(const ByteSink& sink) const;
  /// Writes through ModelFile. Errors: io.
  void save(const std::filesystem::path& path) const;
  /// The whole model as bytes (small models, tests, Python).
  [[nodiscard]] std::string serialize() const;
  /// The model as a file for an engine that wants a path: large tensors are external data in one
  /// file beside it, aligned to pages, so that they can be mapped. Node names are made unique,
  /// because ONNX Runtime refuses repeated ones. Returns the path of the model. Errors: io.
  [[nodiscard]] std::filesystem::path write_for_engine(
      const std::filesystem::path& directory) const;

 private:
  friend class ModelFile;
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

[[nodiscard]] Shape shape_of(const onnx::TensorProto& tensor);
/// Value of attribute `name`, empty if the node has none.
[[nodiscard]] const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node,
                                                         std::string_view name);
[[nodiscard]] std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name,
                                         std::int64_t fallback);

}  // namespace halfstep
