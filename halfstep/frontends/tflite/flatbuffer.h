#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::tflite {

using Bytes = std::span<const std::byte>;

/// Throws invalid_file: `what` says which rule of the file format is broken.
[[noreturn]] void damaged(std::string_view what);

/// The little-endian scalar at `at`. Errors: invalid_file if it does not lie inside of `file`.
template <class T>
[[nodiscard]] T read_scalar(Bytes file, std::uint64_t at) {
  if (at > file.size() || file.size() - at < sizeof(T)) {
    damaged("an offset leads out of the file");
  }
  T value;
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

class Table;

/// A FlatBuffers vector of scalars or tables. Every access is checked against the file.
class Vector {
 public:
  Vector() = default;
  Vector(Bytes file, std::uint64_t at);
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] Table table(std::size_t i) const;
  [[nodiscard]] std::string text(std::size_t i) const;
  template <class T>
  [[nodiscard]] std::vector<T> values() const {
    const Bytes content = elements(sizeof(T));
    std::vector<T> result(size_);
    if (!result.empty()) {
      std::memcpy(result.data(), content.data(), content.size());
    }
    return result;
  }
  [[nodiscard]] Bytes bytes() const { return elements(1); }

 private:
  [[nodiscard]] Bytes elements(std::size_t element_size) const;

  Bytes file_{};
  std::uint64_t first_ = 0;  ///< of the first element
  std::uint32_t size_ = 0;
};

/// A FlatBuffers table. A default-made one has no fields. Nothing here recurses, so that offsets in
/// a circle do no harm. Source: FlatBuffers, "Internals".
class Table {
 public:
  Table() = default;
  Table(Bytes file, std::uint64_t at);
  /// The root table of a file.
  [[nodiscard]] static Table root(Bytes file);

  [[nodiscard]] bool has(int field) const { return position(field) != 0; }
  template <class T>
  [[nodiscard]] T get(int field, T fallback) const {
    const std::uint64_t at = position(field);
    return at == 0 ? fallback : read_scalar<T>(file_, at);
  }
  [[nodiscard]] Table table(int field) const;
  [[nodiscard]] Vector vector(int field) const;
  [[nodiscard]] std::string text(int field) const;

 private:
  /// Where the value of a field lies; 0 if the table does not hold it.
  [[nodiscard]] std::uint64_t position(int field) const;
  [[nodiscard]] std::uint64_t target(int field) const;

  Bytes file_{};
  std::uint64_t at_ = 0;
  std::uint64_t fields_ = 0;  ///< where the table of field offsets starts
  std::uint16_t fields_size_ = 0;
};

}  // namespace halfstep::tflite
