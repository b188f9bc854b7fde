#pragma once

#include <string>
#include <vector>

namespace halfstep::cli {

/// `halfstep _worker qnn`: the process that calls Qualcomm's libraries for another halfstep. It is
/// started with a socket as standard input (protocol: halfstep/engines/qnn/wire.h) and no command
/// for users: without a socket it says so and ends with exit code 2.
[[nodiscard]] int run_worker(const std::vector<std::string>& arguments);

}  // namespace halfstep::cli
