#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "halfstep/calibration/byte_stream.h"
#include "halfstep/support/error.h"

namespace halfstep {

/// Bytes of a test.
class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(std::string bytes) : bytes_(std::move(bytes)) {}
  void read(std::span<std::byte> bytes) override {
    if (bytes.size() > bytes_.size() - position_) {
      throw Error(ErrorKind::invalid_file, "ends early");
    }
    std::memcpy(bytes.data(), bytes_.data() + position_, bytes.size());
    position_ += bytes.size();
  }
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t position_ = 0;
};

/// A .npy file with this header dictionary and content.
inline std::string npy_bytes(const std::string& dictionary, const std::string& content,
                             int version = 1) {
  std::string length(version == 1 ? 2 : 4, '\0');
  length[0] = static_cast<char>(dictionary.size() & 0xFFU);
  length[1] = static_cast<char>(dictionary.size() >> 8U);
  return "\x93NUMPY" + std::string(1, static_cast<char>(version)) + '\0' + length + dictionary +
         content;
}

/// The content of values, as they lie in memory.
template <typename T>
std::string raw(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

}  // namespace halfstep
