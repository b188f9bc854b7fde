#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "halfstep/support/error.h"

namespace halfstep {

/// Where long work reports to, and where it learns that it should stop.
/// The library never prints: the command line draws a bar, Python may draw its own.
class Progress {
 public:
  virtual ~Progress() = default;
  /// Phase `name` starts; `total` steps are expected (0: unknown).
  virtual void begin(std::string_view name, std::uint64_t total) = 0;
  /// `done` steps of the current phase are finished.
  virtual void update(std::uint64_t done) = 0;
  /// The current phase is finished.
  virtual void end() = 0;

  /// Asks the work to stop; safe in a signal handler and from any thread.
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const noexcept {
    return cancelled_.load(std::memory_order_relaxed);
  }
  /// Throws an `interrupted` Error if somebody asked to stop. Called between steps.
  void throw_if_cancelled() const {
    if (cancelled()) {
      throw Error(ErrorKind::interrupted, "interrupted; nothing was written");
    }
  }

 private:
  std::atomic<bool> cancelled_{false};
};

/// Reports to nobody.
class SilentProgress final : public Progress {
 public:
  void begin(std::string_view, std::uint64_t) override {}
  void update(std::uint64_t) override {}
  void end() override {}
};

}  // namespace halfstep
