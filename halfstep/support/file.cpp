#include "halfstep/support/file.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferSize = std::size_t{64} << 10U;
constexpr int kAttempts = 100;

std::string reason(int error) { return std::system_category().message(error); }

[[noreturn]] void fail_to_open(const fs::path& path, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  throw Error(missing ? ErrorKind::invalid_file : ErrorKind::io,
              missing ? "no such file; check the path" : "cannot be read: " + reason(error))
      .within(path.string());
}

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  throw Error(ErrorKind::io, "cannot be written: " + reason(error)).within(path.string());
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(value_); }
  [[nodiscard]] int get() const noexcept { return value_; }

 private:
  int value_;
};

// A file to read, with its size.
std::pair<int, std::size_t> open_regular(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno != ENXIO) {
    fail_to_open(path, errno);
  }
  struct stat status{};
  const char* found = nullptr;
  if (descriptor < 0) {
    found = "a socket or a device that is not there";
  } else if (fstat(descriptor, &status) != 0) {
    found = "a file without status";
  } else if (S_ISDIR(status.st_mode)) {
    found = "a directory";
  } else if (!S_ISREG(status.st_mode)) {
    found = "a pipe, socket or device";
  }
  if (found != nullptr) {
    if (descriptor >= 0) {
      close(descriptor);
    }
    throw Error(ErrorKind::invalid_file, std::string("is ") + found + ", expected a regular file")
        .within(path.string());
  }
  return {descriptor, static_cast<std::size_t>(status.st_size)};
}

std::string random_suffix() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device device;
  std::string text;
  for (std::uint32_t bits = device(), i = 0; i < 8; ++i, bits >>= 4U) {
    text += kDigits[bits & 15U];
  }
  return text;
}

std::string descriptor_link(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

// A file without a name that can get one, beside `path`; -1 where the system has no such thing.
int open_nameless(const fs::path& path) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int descriptor = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor >= 0 && access(descriptor_link(descriptor).c_str(), F_OK) != 0) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

// ".<name>.<random>.tmp" beside `path`; the name is cut so that any legal name stays legal.
fs::path temporary_name(const fs::path& path) {
  constexpr std::size_t kMaxName = 200;
  const std::string name = path.filename().string().substr(0, kMaxName);
  return path.parent_path() / ("." + name + "." + random_suffix() + ".tmp");
}

}  // namespace

void require_readable(const fs::path& path) { const Descriptor opened(open_regular(path).first); }

MappedFile::MappedFile(const fs::path& path) : path_(path) {
  const auto [number, size] = open_regular(path);
  const Descriptor descriptor(number);
  if (size == 0) {
    return;
  }
  const void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
  if (address == MAP_FAILED) {
    fail_to_open(path, errno);
  }
  data_ = static_cast<const std::byte*>(address);
  size_ = size;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    munmap(const_cast<std::byte*>(data_), size_);
  }
}

void MappedFile::drop(std::span<const std::byte> part) const noexcept {
  // Only whole pages inside the part: neighbours may be in use.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - data_);
  const std::size_t end = begin + part.size();
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t last = end == size_ ? end : end / page * page;
  if (part.empty() || first >= last) {
    return;
  }
  madvise(const_cast<std::byte*>(data_) + first, last - first, MADV_DONTNEED);
}

void MappedFile::prefetch(std::span<const std::byte> part) const noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - data_) / page * page;
  const auto end = static_cast<std::size_t>(part.data() + part.size() - data_);
  if (!part.empty()) {
    madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_WILLNEED);
  }
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::is_directory(status)) {
    fail_to_write(path_, EISDIR);
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    temporary_ = path_;
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      fail_to_write(path_, errno);
    }
    return;
  }
  if (fs::is_symlink(fs::symlink_status(path_, error))) {
    path_ = fs::weakly_canonical(path_);
  }
  descriptor_ = open_nameless(path_);
  if (descriptor_ < 0) {
    open_named();
  }
  if (fs::exists(status)) {  // a file that is replaced keeps its permissions
    fchmod(descriptor_, static_cast<mode_t>(status.permissions()));
  }
}

void AtomicFile::open_named() {
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = temporary_name(path_);
    descriptor_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == kAttempts)) {
      const int error = errno;
      temporary_.clear();
      fail_to_write(path_, error);
    }
  }
  registered_ = RegisteredTemporary(temporary_);
}

void AtomicFile::give_name() {
  const std::string source = descriptor_link(descriptor_);
  for (int attempt = 0; temporary_.empty(); ++attempt) {
    const fs::path name = temporary_name(path_);
    registered_ = RegisteredTemporary(name);
    if (linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
    } else if (errno != EEXIST || attempt == kAttempts) {
      fail_to_write(path_, errno);
    }
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
  if (!temporary_.empty() && temporary_ != path_) {
    unlink(temporary_.c_str());
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferSize) {
    write_through(buffer_);
    buffer_.clear();
    if (bytes.size() > kBufferSize) {
      write_through(bytes);
      return;
    }
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      fail_to_write(path_, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

const fs::path& AtomicFile::flush() {
  write_through(buffer_);
  buffer_.clear();
  give_name();
  return temporary_;
}

void AtomicFile::close_descriptor() {
  // Some file systems report a full disk only here.
  if (close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) {
    fail_to_write(path_, errno);
  }
}

void AtomicFile::finish() {
  if (descriptor_ >= 0) {
    (void)flush();
    close_descriptor();
  }
}

void AtomicFile::commit() {
  finish();
  if (temporary_ != path_ && std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail_to_write(path_, errno);
  }
  registered_.release();
  temporary_ = path_;
}

void AtomicFile::commit_as(const fs::path& path) {
  path_ = path;
  commit();
}

std::string read_text(const fs::path& path) {
  const auto [number, size] = open_regular(path);
  const Descriptor descriptor(number);
  std::string text(size, '\0');
  std::size_t done = 0;
  for (;;) {
    if (done == text.size()) {
      text.resize(done + 4096);  // grown meanwhile, or a file of /proc that claims to be empty
    }
    const ssize_t count = read(descriptor.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail_to_open(path, errno);
    }
    done += static_cast<std::size_t>(count);
    if (count == 0) {
      text.resize(done);
      return text;
    }
  }
}

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) {
    throw Error(ErrorKind::io, "no directory for temporary files (" + error.message() +
                                   "); set TMPDIR to one that can be written");
  }
  for (int attempt = 0; path_.empty(); ++attempt) {
    const fs::path candidate = parent / ("halfstep-" + random_suffix());
    if (mkdir(candidate.c_str(), 0700) == 0) {
      path_ = candidate;
    } else if (errno != EEXIST || attempt == kAttempts) {
      throw Error(ErrorKind::io, "cannot make a directory for temporary files: " + reason(errno) +
                                     "; set TMPDIR to a directory that can be written")
          .within(parent.string());
    }
  }
  registered_ = RegisteredTemporary(path_);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace halfstep
