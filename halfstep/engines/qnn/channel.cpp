#include "halfstep/engines/qnn/channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "halfstep/engines/qnn/wire.h"
#include "halfstep/support/error.h"
#include "halfstep/support/progress.h"

namespace halfstep::qnn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook(50);  // how often it is looked whether the user gave up
constexpr std::size_t kHeader = 9;
constexpr int kWait = MSG_NOSIGNAL;
constexpr int kDoNotWait = MSG_NOSIGNAL + MSG_DONTWAIT;  // two bits

[[noreturn]] void fail_system(const std::string& what, int number) {
  throw Error(ErrorKind::io, what + ": " + std::generic_category().message(number));
}

std::array<std::byte, kHeader> header_of(Kind kind, std::uint64_t size) {
  std::array<std::byte, kHeader> header{static_cast<std::byte>(kind)};
  for (std::size_t i = 0; i < 8; ++i) {
    header[1 + i] = static_cast<std::byte>(size >> (8 * i));
  }
  return header;
}

std::uint64_t size_in(const std::array<std::byte, kHeader>& header) {
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    size |= std::to_integer<std::uint64_t>(header[1 + i]) << (8 * i);
  }
  return size;
}

/// Waits until the socket can be read or written; false when the time is over.
bool ready(int socket, short events, Clock::time_point end, const Progress* progress) {
  for (;;) {
    if (progress != nullptr) {
      progress->throw_if_cancelled();
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) {
      return false;
    }
    pollfd one{.fd = socket, .events = events, .revents = 0};
    if (poll(&one, 1, static_cast<int>(std::min(left, kLook).count())) > 0) {
      return true;
    }
  }
}

/// Calls `wait` before each piece. False: the other side is gone, or `wait` returned false.
template <typename Wait>
bool send_all(int socket, std::span<const std::byte> bytes, int flags, const Wait& wait) {
  while (!bytes.empty()) {
    if (!wait()) {
      return false;
    }
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), flags);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool receive_all(int socket, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

/// As receive_all, in pieces that arrive within the time.
Child::Wait receive_within(int socket, std::span<std::byte> bytes, Clock::time_point end,
                           const Progress* progress) {
  while (!bytes.empty()) {
    if (!ready(socket, POLLIN, end, progress)) {
      return Child::Wait::late;
    }
    const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (count <= 0) {
      return Child::Wait::ended;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return Child::Wait::answered;
}

}  // namespace

bool send_frame(int socket, Kind kind, std::span<const std::byte> content) {
  const auto always = [] { return true; };
  return send_all(socket, header_of(kind, content.size()), kWait, always) &&
         send_all(socket, content, kWait, always);
}

std::optional<Frame> receive_frame(int socket) {
  std::array<std::byte, kHeader> header{};
  if (!receive_all(socket, header)) {
    return std::nullopt;
  }
  Frame frame{.kind = static_cast<Kind>(header[0])};
  frame.content.resize(size_in(header));
  if (!receive_all(socket, frame.content)) {
    return std::nullopt;
  }
  return frame;
}

Child::Child(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail_system("cannot make a socket for the QNN worker", errno);
  }
  socket_.reset(ends[0]);
  const Descriptor other(ends[1]);
  process_.emplace(ChildStart{.arguments = arguments,
                              .what = "the QNN worker",
                              .input = other.get(),
                              .advice = "HALFSTEP_WORKER names another halfstep command"});
}

void Child::send(Kind kind, std::span<const std::byte> content, std::chrono::milliseconds limit,
                 const Progress* progress) {
  process_->clear_messages();
  const Clock::time_point end = Clock::now() + limit;
  const auto wait = [&] { return ready(socket_.get(), POLLOUT, end, progress); };
  if (send_all(socket_.get(), header_of(kind, content.size()), kDoNotWait, wait)) {
    (void)send_all(socket_.get(), content, kDoNotWait, wait);
  }
}

Child::Wait Child::receive(Frame& frame, std::chrono::milliseconds limit,
                           const Progress* progress) {
  const Clock::time_point end = Clock::now() + limit;
  std::array<std::byte, kHeader> header{};
  const Wait wait = receive_within(socket_.get(), header, end, progress);
  if (wait != Wait::answered) {
    return wait;
  }
  frame.kind = static_cast<Kind>(header[0]);
  frame.content.resize(size_in(header));
  return receive_within(socket_.get(), frame.content, end, progress);
}

std::string Child::ending() { return process_->ending(); }

std::string Child::last_lines() const {
  constexpr int kLines = 3;
  return process_->last_lines(kLines);
}

}  // namespace halfstep::qnn
