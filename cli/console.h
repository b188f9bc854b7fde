#pragma once

#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/error.h"

namespace halfstep::cli {

/// What the command line takes from environment variables. The library below knows none.
struct Environment {
  bool no_color = false;       ///< NO_COLOR is set and not empty
  bool dumb_terminal = false;  ///< TERM=dumb
  std::string onnxruntime{};   ///< HALFSTEP_ORT
  std::string python{};        ///< HALFSTEP_PYTHON
};
[[nodiscard]] Environment read_environment();

/// Where a command writes: its result to `out` (written at once at the end), messages to `err`.
struct Console {
  std::ostringstream& out;
  std::ostream& err;
  bool terminal = false;  ///< `err` is one
  bool color = false;
};

/// error: <what>, and below it help: <advice> if there is any.
void print_error(Console& console, std::string_view message, std::string_view help);

/// Warnings (and with `verbose` or `notes` notes) grouped by rule, the first three of each unless
/// `verbose`.
void print_diagnostics(Console& console, const Diagnostics& diagnostics, bool verbose,
                       bool notes = false);

/// The exit code that the documentation promises for an error of this kind.
[[nodiscard]] int exit_code(ErrorKind kind) noexcept;
[[nodiscard]] std::string_view kind_name(ErrorKind kind) noexcept;

/// What a failed command tells its caller.
struct Failure {
  ErrorKind kind = ErrorKind::internal;
  std::string message{};
  std::string help{};
};
/// The exception that is being handled, in words.
[[nodiscard]] Failure current_failure();
/// Prints a failure; with --json also a document on standard output. Returns the exit code.
int report_failure(Console& console, const Failure& failure, const OutputOptions& options,
                   std::string_view command);

}  // namespace halfstep::cli
