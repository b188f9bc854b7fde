#pragma once

#include "halfstep/support/progress.h"

namespace halfstep::cli {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP asks the work to stop (Progress::cancel); a
/// second one removes temporary files and leaves at once with exit code 130. One at a time.
class SignalGuard {
 public:
  explicit SignalGuard(Progress& progress);
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  ~SignalGuard();
};

}  // namespace halfstep::cli
