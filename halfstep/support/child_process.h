#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "halfstep/support/progress.h"

namespace halfstep {

/// A file descriptor that is closed with it.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const noexcept { return number_; }
  void reset(int number) {
    close();
    number_ = number;
  }
  void close();

 private:
  int number_;
};

/// What a child process starts with.
struct ChildStart {
  std::vector<std::string> arguments{};    ///< the program first
  std::string what{};                      ///< it in messages: "the QNN worker"
  int input = -1;                          ///< its standard input; -1: nothing
  int output = -1;                         ///< its standard output; -1: kept as its messages are
  std::string advice{};                    ///< what to do if it can't be started
  std::vector<std::string> environment{};  ///< "NAME=value", before those of this process
};

/// A running child process, in a process group of its own: Ctrl-C is for the parent. What it writes
/// to its standard error goes to a file in memory, never to the user's terminal. The destructor
/// kills and reaps it.
class ChildProcess {
 public:
  /// Errors: unsupported if it can't be started.
  explicit ChildProcess(const ChildStart& start);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  /// Waits until the child ends. False: `limit` is over. Errors: interrupted if `progress` was
  /// cancelled; it is told every moment that work goes on.
  [[nodiscard]] bool wait(std::chrono::milliseconds limit, Progress& progress);
  /// The exit code of a child that ended by itself; empty if a signal ended it. Waits for the end.
  [[nodiscard]] std::optional<int> exit_code();
  /// How it ended: "ended with signal 11 (Segmentation fault)". Waits for the end.
  [[nodiscard]] std::string ending();
  /// The last lines of its messages.
  [[nodiscard]] std::string last_lines(int count) const;
  /// Forgets the messages so far. Errors: io.
  void clear_messages();

 private:
  void reap();

  std::string what_;
  Descriptor messages_{};
  pid_t process_ = -1;
  int status_ = -1;  ///< as waitpid() gives it, once the child ended
  bool ended_ = false;
};

/// The Python beside this program or, of a Python module, `given`: `given` if not empty, else
/// python3 or python in the program's folder. `purpose` and `install` stand in the message.
/// Errors: unsupported with the place looked at and the install command.
[[nodiscard]] std::string find_python(const std::string& given, const std::string& purpose,
                                      const std::string& install);

}  // namespace halfstep
