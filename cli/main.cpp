#include <csignal>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/worker.h"

int main(int argc, char** argv) {
  using namespace halfstep::cli;  // NOLINT(google-build-using-namespace): the command is nothing
                                  // else
  // A reader that leaves and a file that grows too large are errors of write(), not our end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc >= 2 && std::string_view(argv[1]) == "_worker") {
    return run_worker({argv + 2, argv + argc});
  }
  const Environment environment = read_environment();
  const bool terminal = isatty(STDERR_FILENO) == 1 && !environment.dumb_terminal;
  std::ostringstream out;
  Console console{.out = out,
                  .err = std::cerr,
                  .terminal = terminal,
                  .color = terminal && !environment.no_color};
  int code = run(std::vector<std::string>(argv + 1, argv + argc), console, environment);
  if (!write_standard_output(out.str())) {
    print_error(console, "cannot write to standard output", "");
    code = code == 0 ? exit_code(halfstep::ErrorKind::io) : code;
  }
  std::cerr << std::flush;
  // The system frees everything at once; ONNX Runtime's destructors would take their time.
  _exit(code);
}
