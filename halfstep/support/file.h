#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/support/temporaries.h"

namespace halfstep {

/// A whole file mapped read-only. Pages are read when touched. The file must not shrink meanwhile.
/// Errors: invalid_file (missing, a directory or a pipe), io (no permission).
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Lets the system drop the pages of `part` (a part of bytes()); they are read again when needed.
  void drop(std::span<const std::byte> part) const noexcept;
  /// Lets the system read `part` (a part of bytes()) while something else is done.
  void prefetch(std::span<const std::byte> part) const noexcept;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Errors: invalid_file if `path` is missing, a directory, a pipe, a socket or a device (which
/// could be waited on for ever), io if it can't be read; both name it.
void require_readable(const std::filesystem::path& path);

/// A file that appears under its name only when it is complete. Until commit() it has no name, so
/// that nothing is left of it however the process ends; where the file system can't do that, it has
/// a temporary name beside the final one, and the destructor removes it. A symbolic link is
/// followed; a device or pipe (/dev/stdout) is written directly.
/// Errors: io naming the path and the system's reason (no directory, no permission, full disk).
class AtomicFile {
 public:
  /// Errors: io if the directory is missing or cannot be written.
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Everything written so far is on disk under this temporary name (to try the file before
  /// commit).
  [[nodiscard]] const std::filesystem::path& flush();
  /// Bytes written so far.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Gives everything a temporary name beside the final one; nothing can be written afterwards.
  void finish();
  /// finish(), then renames to the final name.
  void commit();
  /// The same under another name, in the same file system.
  void commit_as(const std::filesystem::path& path);

 private:
  void write_through(std::span<const std::byte> bytes);
  void close_descriptor();
  void open_named();
  void give_name();

  std::filesystem::path path_;
  /// Empty while the file has no name; equal to path_ if that is no regular file.
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::vector<std::byte> buffer_{};
  RegisteredTemporary registered_{};
};

/// The whole file as text. Errors: invalid_file (missing), io.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

/// A directory below the system's directory for temporary files that is removed with everything in
/// it by the destructor. Errors: io.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  RegisteredTemporary registered_{};
};

/// Removes every AtomicFile and TemporaryDirectory that is still open. For signal handlers of the
/// command line that must leave at once.
void remove_temporaries() noexcept;

}  // namespace halfstep
