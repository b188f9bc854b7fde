#pragma once

#include <filesystem>

namespace halfstep {

struct TemporaryEntry;

/// A path that remove_temporaries() deletes while this object lives. Used by the classes of file.h.
class RegisteredTemporary {
 public:
  RegisteredTemporary() = default;
  explicit RegisteredTemporary(const std::filesystem::path& path);
  RegisteredTemporary(RegisteredTemporary&& other) noexcept;
  RegisteredTemporary& operator=(RegisteredTemporary&& other) noexcept;
  RegisteredTemporary(const RegisteredTemporary&) = delete;
  RegisteredTemporary& operator=(const RegisteredTemporary&) = delete;
  ~RegisteredTemporary() { release(); }

  /// The path got its final name or is removed already.
  void release() noexcept;

 private:
  TemporaryEntry* entry_ = nullptr;
};

}  // namespace halfstep
