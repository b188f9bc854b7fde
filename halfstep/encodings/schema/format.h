#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/encodings/encoding.h"
#include "halfstep/support/json.h"

namespace halfstep {

/// Versions of the encodings file that can be written.
enum class EncodingsVersion : std::uint8_t { v0_6_1, v1_0_0, v2_0_0, v2_1_0 };

/// What the graph knows of a tensor that the older versions of the file leave out.
struct TensorFacts {
  std::optional<Shape> shape{};  ///< empty: not even the rank is known; -1: unknown extent
  bool parameter = false;        ///< a constant that is the weight or bias of an operator
  /// Axes as the operator that reads the tensor uses them; empty where it does not matter.
  std::optional<std::int64_t> channel_axis{}, block_axis{};
};

/// A tensor that goes into a file.
struct NamedEncoding {
  std::string name{};
  const Encoding* encoding = nullptr;
  TensorFacts facts{};
};

/// Something that a version of the file leaves unsaid: who to write as the producer.
struct Producer {
  std::string package{};
  std::string version{};
};

/// One version of the file. Entries keep the order they come in.
struct EncodingsFormat {
  EncodingsVersion version;
  std::string_view text;  ///< as in the file: "2.0.0"
  bool sections;          ///< activation_encodings and param_encodings instead of one list
  bool keyed;             ///< a section is an object by tensor name instead of a list
  bool writes_floats;     ///< float16 and float32 tensors have entries
  /// The entry of one tensor. Errors: unsupported with the reason why the version can't say it.
  Json (*write)(const NamedEncoding& tensor);
};

[[nodiscard]] std::span<const EncodingsFormat> encodings_formats() noexcept;
[[nodiscard]] const EncodingsFormat& encodings_format(EncodingsVersion version) noexcept;
/// Errors: invalid_argument listing the known versions.
[[nodiscard]] EncodingsVersion parse_encodings_version(std::string_view text);

/// The whole file, one line per tensor.
/// Errors: unsupported naming every tensor that the version can't say, with the reason.
[[nodiscard]] std::string write_encodings_text(std::span<const NamedEncoding> tensors,
                                               EncodingsVersion version, const Producer& producer);

}  // namespace halfstep
