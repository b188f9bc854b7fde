#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/wire.h"
#include "halfstep/support/child_process.h"
#include "halfstep/support/progress.h"

namespace halfstep::qnn {

struct Frame {
  Kind kind = Kind::failed;
  std::vector<std::byte> content{};
};

/// The worker's side: blocking, on a socket. Both return false, or nothing, when the other side is
/// gone.
[[nodiscard]] bool send_frame(int socket, Kind kind, std::span<const std::byte> content);
[[nodiscard]] std::optional<Frame> receive_frame(int socket);

/// The client's side: a running worker process. It is killed and reaped by the destructor. Its
/// standard output and error go to a file in memory, never to the user's terminal.
class Child {
 public:
  /// Starts `arguments` (the program first). Errors: unsupported if it can't be started.
  explicit Child(const std::vector<std::string>& arguments);

  enum class Wait : std::uint8_t { answered, ended, late };
  /// Sends a request; what can't be sent because the child ended shows when the answer is awaited.
  void send(Kind kind, std::span<const std::byte> content, std::chrono::milliseconds limit,
            const Progress* progress);
  /// Waits for a frame. Errors: interrupted if `progress` was cancelled.
  [[nodiscard]] Wait receive(Frame& frame, std::chrono::milliseconds limit,
                             const Progress* progress);

  /// How a child that ended did so: "ended with signal 11 (Segmentation fault)".
  [[nodiscard]] std::string ending();
  /// The last lines that the child wrote to its standard output and error since the last request.
  [[nodiscard]] std::string last_lines() const;

 private:
  Descriptor socket_{};
  std::optional<ChildProcess> process_{};
};

}  // namespace halfstep::qnn
