#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/api.h"

/// What a backend says. Only in the worker process: the C API's callback can be given nothing, so
/// the lines go to one list of the process.
namespace halfstep::qnn {

constexpr std::uint32_t kLogErrors = 1;
constexpr std::uint32_t kLogWarnings = 2;

[[nodiscard]] api::LogCallback log_callback() noexcept;

/// Messages since the last call, oldest first.
[[nodiscard]] std::vector<std::string> take_log();

/// A refusal in short: messages without repetitions and without those that only say that something
/// failed, and the lists of types the backend offers, a line each:
///   "INT8: in[0] ufixed8, in[1] ufixed8, out[0] ufixed8".
struct LogSummary {
  std::vector<std::string> messages{};
  std::vector<std::string> kernels{};
};
[[nodiscard]] LogSummary summarize(const std::vector<std::string>& log);

}  // namespace halfstep::qnn
