#pragma once

#include <string>

namespace halfstep::qnn {

/// The halfstep command to start as worker: `given`, else the environment variable
/// HALFSTEP_WORKER, else this program if its name is halfstep, else `bin/halfstep` of the
/// environment that this code lies in, else the first halfstep in PATH.
/// Errors: unsupported with what to do.
[[nodiscard]] std::string find_worker(const std::string& given);

}  // namespace halfstep::qnn
