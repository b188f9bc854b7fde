#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace halfstep::wire {

// The protobuf wire format, as far as it is needed to walk a model without copying its weights.

using Bytes = std::span<const std::byte>;

enum class Type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  Type type = Type::varint;
  Bytes whole{};             ///< tag, length and value
  Bytes value{};             ///< the value; of a varint its bytes
  std::uint64_t varint = 0;  ///< only of a varint
};

/// Reads the fields of one message in their order.
/// Errors: invalid_file with the position in `file` and what is wrong there; never reads out of
/// bounds.
class Reader {
 public:
  /// `message` is a part of `file`, which is only used for positions in errors.
  Reader(Bytes message, const std::byte* file) : rest_(message), file_(file) {}
  /// False at the end of the message.
  [[nodiscard]] bool next(Field& field);

 private:
  [[nodiscard]] std::uint64_t read_varint();
  [[nodiscard]] Bytes take(std::uint64_t size);
  [[noreturn]] void fail(const std::string& what) const;

  Bytes rest_;
  const std::byte* file_;
};

/// The messages on the way to a tensor.
enum class Kind : std::uint8_t {
  none,
  model,
  training,
  graph,
  function,
  node,
  attribute,
  sparse,
  tensor,
};
/// What field `number` of a message of kind `parent` holds; none if no tensor lies below it.
[[nodiscard]] Kind child_kind(Kind parent, std::uint32_t number) noexcept;
/// "node", "initializer": the field's name in messages.
[[nodiscard]] const char* child_name(Kind parent, std::uint32_t number) noexcept;

/// How deep messages may be nested; protobuf's own limit.
inline constexpr int kMaxDepth = 100;

[[nodiscard]] std::size_t varint_size(std::uint64_t value) noexcept;
/// Appends in the shortest form.
void append_varint(std::string& out, std::uint64_t value);
[[nodiscard]] constexpr std::uint64_t tag(std::uint32_t number, Type type) noexcept {
  return (std::uint64_t{number} << 3U) | static_cast<std::uint64_t>(type);
}

// Field numbers of TensorProto that hold or describe its data.
inline constexpr std::uint32_t kDims = 1, kDataType = 2, kFloatData = 4, kRawData = 9,
                               kDoubleData = 10, kExternalData = 13, kDataLocation = 14;

}  // namespace halfstep::wire
