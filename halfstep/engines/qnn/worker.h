#pragma once

namespace halfstep::qnn {

/// The worker process: answers requests (see wire.h) on `socket` until the other side closes it.
/// Whatever the libraries print goes to standard error. Returns the exit code.
[[nodiscard]] int run_worker(int socket);

}  // namespace halfstep::qnn
