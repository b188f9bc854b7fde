#pragma once

#include <exception>
#include <string>
#include <type_traits>

#include <nanobind/nanobind.h>

#include "halfstep/support/progress.h"

namespace halfstep::python {

namespace nb = nanobind;

/// Hands progress to a Python callable (or to nobody: None) and gives Python the chance to run its
/// signal handlers, so that Ctrl-C works. What either raises stops the work and is kept.
class PythonProgress final : public Progress {
 public:
  explicit PythonProgress(nb::object callback) : callback_(std::move(callback)) {}
  void begin(std::string_view name, std::uint64_t total) override;
  void update(std::uint64_t done) override;
  void end() override;
  /// Throws what the callable or a signal handler raised, if one did.
  void rethrow() const;

 private:
  void report(std::uint64_t done);

  nb::object callback_;
  std::string phase_{};
  std::uint64_t total_ = 0;
  std::exception_ptr failure_{};
};

/// Runs `work` without Python's lock. If something was raised meanwhile, that is what the caller
/// gets, as it was raised.
template <typename Work>
std::invoke_result_t<Work> run_unlocked(const PythonProgress& progress, Work work) {
  try {
    const nb::gil_scoped_release unlocked;
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      progress.rethrow();
    } else {
      auto result = work();
      progress.rethrow();
      return result;
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) {
      progress.rethrow();
    }
    throw;
  }
}

}  // namespace halfstep::python
