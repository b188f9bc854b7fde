#include "halfstep/support/child_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "halfstep/support/error.h"

extern char** environ;  // NOLINT: the declaration that POSIX asks for

namespace halfstep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook(20);  // how often it is looked whether the child ended

std::string reason(int error) { return std::generic_category().message(error); }

/// As posix_spawn declares lists of words.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) {
    result.push_back(const_cast<char*>(word.c_str()));  // NOLINT: posix_spawn changes nothing
  }
  return result;
}

/// The environment of this process with `first` in front: of equal names the first one counts.
std::vector<char*> environment(const std::vector<std::string>& first) {
  std::vector<char*> result = pointers(first);
  for (char** entry = environ; *entry != nullptr; ++entry) {  // NOLINT: a list that ends with null
    result.push_back(*entry);
  }
  result.push_back(nullptr);
  return result;
}

pid_t spawn(const ChildStart& start, int messages) {
  std::vector<char*> words = pointers(start.arguments);
  words.push_back(nullptr);
  const std::vector<char*> variables = environment(start.environment);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  if (start.input < 0) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&actions, start.input, STDIN_FILENO);
  }
  posix_spawn_file_actions_adddup2(&actions, start.output < 0 ? messages : start.output,
                                   STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  // Ctrl-C is for us: a group of its own keeps the terminal's signal from the child.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = -1;
  const int error =
      posix_spawn(&process, words[0], &actions, &attributes, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    throw Error(ErrorKind::unsupported, "cannot start " + start.what + " \"" +
                                            start.arguments.front() + "\": " + reason(error) +
                                            (start.advice.empty() ? "" : "; " + start.advice));
  }
  return process;
}

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) {
    ::close(number_);
  }
  number_ = -1;
}

ChildProcess::ChildProcess(const ChildStart& start) : what_(start.what) {
  messages_.reset(memfd_create("halfstep_messages", MFD_CLOEXEC));
  if (messages_.get() < 0) {
    throw Error(ErrorKind::io,
                "cannot make a file for the messages of " + start.what + ": " + reason(errno));
  }
  fcntl(messages_.get(), F_SETFL, O_APPEND);  // so that it can be emptied while the child runs
  process_ = spawn(start, messages_.get());
}

ChildProcess::~ChildProcess() {
  if (process_ > 0 && !ended_) {
    kill(-process_, SIGKILL);  // with what it started itself
    reap();
  }
}

void ChildProcess::reap() {
  while (!ended_) {
    const pid_t found = waitpid(process_, &status_, 0);
    ended_ = found == process_ || errno != EINTR;
  }
}

bool ChildProcess::wait(std::chrono::milliseconds limit, Progress& progress) {
  const Clock::time_point end = Clock::now() + limit;
  for (;;) {
    const pid_t found = ended_ ? process_ : waitpid(process_, &status_, WNOHANG);
    if (found != 0) {
      ended_ = true;
      return true;
    }
    progress.update(0);
    progress.throw_if_cancelled();
    if (Clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(kLook);
  }
}

std::optional<int> ChildProcess::exit_code() {
  reap();
  return WIFEXITED(status_) ? std::optional<int>(WEXITSTATUS(status_)) : std::nullopt;
}

std::string ChildProcess::ending() {
  reap();
  if (WIFSIGNALED(status_)) {
    const int number = WTERMSIG(status_);
    return "ended with signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return "ended with exit code " + std::to_string(WIFEXITED(status_) ? WEXITSTATUS(status_) : -1);
}

std::string ChildProcess::last_lines(int count) const {
  constexpr off_t kTail = 4096;
  const off_t size = lseek(messages_.get(), 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kTail)), '\0');
  const ssize_t read =
      pread(messages_.get(), text.data(), text.size(), std::max<off_t>(0, size - kTail));
  text.resize(read > 0 ? static_cast<std::size_t>(read) : 0);
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  std::size_t start = text.size();
  for (int line = 0; line < count && start != std::string::npos && start > 0; ++line) {
    start = text.rfind('\n', start - 1);
  }
  return start == std::string::npos || start == 0 ? text : text.substr(start + 1);
}

void ChildProcess::clear_messages() {
  if (ftruncate(messages_.get(), 0) != 0) {
    throw Error(ErrorKind::io,
                "cannot empty the file for the messages of " + what_ + ": " + reason(errno));
  }
}

std::string find_python(const std::string& given, const std::string& purpose,
                        const std::string& install) {
  if (!given.empty()) {
    return given;
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  for (const char* name : {"python3", "python"}) {
    const std::filesystem::path python = program.parent_path() / name;
    if (!error && access(python.c_str(), X_OK) == 0) {
      return python.string();
    }
  }
  throw Error(ErrorKind::unsupported, purpose + " by Python, and there is none beside " +
                                          program.string() +
                                          "; use the halfstep of a Python environment (" + install +
                                          ") or set HALFSTEP_PYTHON to its python");
}

}  // namespace halfstep
