#include "halfstep/engines/qnn/channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "halfstep/engines/qnn/wire.h"
#include "halfstep/support/error.h"
#include "halfstep/support/progress.h"

extern char** environ;  // NOLINT: the declaration that POSIX asks for

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

pid_t spawn(const std::vector<std::string>& arguments, int socket, int messages) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) {
    words.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: as posix_spawn declares it
  }
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  // Ctrl-C is for us: a group of its own keeps the terminal's signal from the worker.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = -1;
  const int error = posix_spawn(&process, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw Error(ErrorKind::unsupported, "cannot start the QNN worker \"" + arguments.front() +
                                            "\": " + std::generic_category().message(error) +
                                            "; HALFSTEP_WORKER names another halfstep command");
  }
  return process;
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
  socket_ = ends[0];
  messages_ = memfd_create("halfstep_qnn_messages", MFD_CLOEXEC);
  if (messages_ < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    fail_system("cannot make a file for the messages of the QNN worker", error);
  }
  fcntl(messages_, F_SETFL, O_APPEND);  // so that it can be emptied while the child runs
  try {
    process_ = spawn(arguments, ends[1], messages_);
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    close(messages_);
    throw;
  }
  close(ends[1]);
}

Child::~Child() {
  close(socket_);
  close(messages_);
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
}

void Child::send(Kind kind, std::span<const std::byte> content, std::chrono::milliseconds limit,
                 const Progress* progress) {
  if (ftruncate(messages_, 0) != 0) {
    fail_system("cannot empty the file for the messages of the QNN worker", errno);
  }
  const Clock::time_point end = Clock::now() + limit;
  const auto wait = [&] { return ready(socket_, POLLOUT, end, progress); };
  if (send_all(socket_, header_of(kind, content.size()), kDoNotWait, wait)) {
    (void)send_all(socket_, content, kDoNotWait, wait);
  }
}

Child::Wait Child::receive(Frame& frame, std::chrono::milliseconds limit,
                           const Progress* progress) {
  const Clock::time_point end = Clock::now() + limit;
  std::array<std::byte, kHeader> header{};
  const Wait wait = receive_within(socket_, header, end, progress);
  if (wait != Wait::answered) {
    return wait;
  }
  frame.kind = static_cast<Kind>(header[0]);
  frame.content.resize(size_in(header));
  return receive_within(socket_, frame.content, end, progress);
}

std::string Child::ending() {
  int status = 0;
  const pid_t ended = process_ > 0 ? waitpid(process_, &status, 0) : -1;
  process_ = -1;
  if (ended > 0 && WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return "ended with signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return "ended with exit code " +
         std::to_string(ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

std::string Child::last_lines() const {
  constexpr off_t kTail = 2048;
  constexpr int kLines = 3;
  const off_t size = lseek(messages_, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kTail)), '\0');
  const ssize_t count =
      pread(messages_, text.data(), text.size(), std::max<off_t>(0, size - kTail));
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  std::size_t start = text.size();
  for (int line = 0; line < kLines && start != std::string::npos && start > 0; ++line) {
    start = text.rfind('\n', start - 1);
  }
  return start == std::string::npos || start == 0 ? text : text.substr(start + 1);
}

}  // namespace halfstep::qnn
