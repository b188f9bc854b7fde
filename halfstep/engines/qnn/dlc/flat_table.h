#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::qnn::dlc {

/// A table of a FlatBuffers file, read without its schema: fields by number. Every offset is
/// checked, and the sum of all that is read is bounded by the size of the file, so that a hostile
/// file can neither be read outside nor made large.
/// Source of the layout: FlatBuffers' public description of its binary format.
class FlatTable {
 public:
  /// The root table of `file`, whose identifier has to be `identifier`; `name` is for messages.
  /// Errors, also of all below: invalid_file naming the file, the byte and what was expected.
  [[nodiscard]] static FlatTable root(std::span<const std::byte> file, std::string_view identifier,
                                      std::string name);

  /// A number of `size` bytes, or `missing` if the field is not there.
  [[nodiscard]] std::uint64_t number(std::size_t field, unsigned size,
                                     std::uint64_t missing = 0) const;
  [[nodiscard]] std::int32_t int32(std::size_t field, std::int32_t missing = 0) const;
  [[nodiscard]] float float32(std::size_t field) const;
  [[nodiscard]] double float64(std::size_t field) const;
  [[nodiscard]] std::string text(std::size_t field) const;  ///< empty if not there
  [[nodiscard]] std::optional<FlatTable> table(std::size_t field) const;
  // Vectors; empty if not there.
  [[nodiscard]] std::vector<FlatTable> tables(std::size_t field) const;
  [[nodiscard]] std::vector<std::string> texts(std::size_t field) const;
  [[nodiscard]] std::vector<std::uint32_t> numbers(std::size_t field) const;
  [[nodiscard]] std::vector<std::uint8_t> bytes(std::size_t field) const;
  [[nodiscard]] bool has(std::size_t field) const { return place_of(field).has_value(); }

 private:
  struct File {
    std::span<const std::byte> bytes{};
    std::string name{};
    std::uint64_t budget = 0;  ///< bytes that may still be read
  };
  FlatTable(std::shared_ptr<File> file, std::uint64_t at);
  /// This place as a table: finds its fields.
  [[nodiscard]] FlatTable table_here() const;

  [[nodiscard]] std::span<const std::byte> part(std::uint64_t at, std::uint64_t size) const;
  [[nodiscard]] std::uint64_t number_at(std::uint64_t at, unsigned size) const;
  [[nodiscard]] std::optional<std::uint64_t> place_of(std::size_t field) const;
  [[nodiscard]] std::optional<std::uint64_t> target_of(std::size_t field) const;
  [[nodiscard]] std::string text_at(std::uint64_t at) const;
  struct Vector {
    std::uint64_t at = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] Vector vector(std::size_t field, unsigned size) const;

  std::shared_ptr<File> file_;
  std::uint64_t at_ = 0;
  std::uint64_t fields_ = 0;  ///< where the offsets of the fields are
  std::size_t field_count_ = 0;
};

}  // namespace halfstep::qnn::dlc
