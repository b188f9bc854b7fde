#include "halfstep/support/temporaries.h"

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include "halfstep/support/file.h"

namespace halfstep {

// A signal may arrive at any moment: the list is only pushed to, entries are reused and never
// freed, and a path is complete before its entry is live.
struct TemporaryEntry {
  enum class State : std::uint8_t { unused, filling, live };
  std::atomic<State> state{State::filling};
  pid_t process = 0;  ///< a forked child knows the path, too, but it is not the child's
  std::array<char, PATH_MAX> path{};
  TemporaryEntry* next = nullptr;
};

namespace {

using State = TemporaryEntry::State;
constexpr int kMaxDepth = 8;

// State of the whole process, because a signal handler has no other way to find the paths.
std::atomic<TemporaryEntry*>& first_entry() noexcept {
  static constinit std::atomic<TemporaryEntry*> first{nullptr};
  return first;
}

TemporaryEntry* unused_entry() noexcept {
  for (TemporaryEntry* entry = first_entry().load(); entry != nullptr; entry = entry->next) {
    State expected = State::unused;
    if (entry->state.compare_exchange_strong(expected, State::filling)) {
      return entry;
    }
  }
  return nullptr;
}

TemporaryEntry* new_entry() {
  TemporaryEntry* entry = std::make_unique<TemporaryEntry>().release();
  entry->next = first_entry().load();
  while (!first_entry().compare_exchange_weak(entry->next, entry)) {
  }
  return entry;
}

// From here on only functions that are safe in a signal handler; readdir() is not.
void remove_children(int directory, int depth) noexcept;

void remove_path(int directory, const char* name, int depth) noexcept {
  if (unlinkat(directory, name, 0) == 0 || depth > kMaxDepth) {
    return;
  }
  const int child = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (child < 0) {
    return;
  }
  remove_children(child, depth);
  close(child);
  unlinkat(directory, name, AT_REMOVEDIR);
}

void remove_children(int directory, int depth) noexcept {
  alignas(dirent64) std::array<char, 2048> buffer;
  for (;;) {
    const ssize_t size = getdents64(directory, buffer.data(), buffer.size());
    if (size <= 0) {
      return;
    }
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer.data() + at + offsetof(dirent64, d_reclen), sizeof(length));
      const char* name = buffer.data() + at + offsetof(dirent64, d_name);
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) {
        remove_path(directory, name, depth + 1);
      }
      at += length;
    }
  }
}

}  // namespace

RegisteredTemporary::RegisteredTemporary(const std::filesystem::path& path) {
  const std::string text = std::filesystem::absolute(path).string();
  if (text.size() >= PATH_MAX) {
    return;  // the system refuses such a path anyway
  }
  entry_ = unused_entry();
  if (entry_ == nullptr) {
    entry_ = new_entry();
  }
  std::memcpy(entry_->path.data(), text.c_str(), text.size() + 1);
  entry_->process = getpid();
  entry_->state.store(State::live);
}

RegisteredTemporary::RegisteredTemporary(RegisteredTemporary&& other) noexcept
    : entry_(std::exchange(other.entry_, nullptr)) {}

RegisteredTemporary& RegisteredTemporary::operator=(RegisteredTemporary&& other) noexcept {
  std::swap(entry_, other.entry_);
  return *this;
}

void RegisteredTemporary::release() noexcept {
  if (entry_ != nullptr) {
    std::exchange(entry_, nullptr)->state.store(State::unused);
  }
}

void remove_temporaries() noexcept {
  for (TemporaryEntry* entry = first_entry().load(); entry != nullptr; entry = entry->next) {
    if (entry->state.load() == State::live && entry->process == getpid()) {
      remove_path(AT_FDCWD, entry->path.data(), 0);
    }
  }
}

}  // namespace halfstep
