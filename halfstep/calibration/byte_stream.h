#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>

namespace halfstep {

/// Bytes of an array file, read from front to back.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Fills `bytes`. Errors: invalid_file if fewer are left or they are damaged.
  virtual void read(std::span<std::byte> bytes) = 0;
  /// How many bytes the stream holds in all.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
};

/// A plain file.
class FileStream final : public ByteStream {
 public:
  /// Errors: invalid_file (missing, no regular file), io (not readable).
  explicit FileStream(const std::filesystem::path& path);
  void read(std::span<std::byte> bytes) override;
  [[nodiscard]] std::uint64_t size() const override { return size_; }

 private:
  std::filesystem::path path_;
  std::ifstream file_{};
  std::uint64_t size_ = 0;
};

}  // namespace halfstep
