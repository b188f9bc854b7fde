#include <array>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <execinfo.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep::cli {
namespace {

/// What the handler of --debug needs to know: it can't be given anything.
struct Running {
  Console* console = nullptr;
  OutputOptions options{};
  std::string command{};
};
Running& running() {
  static Running instance;
  return instance;
}

/// Nobody caught the exception, so nothing was unwound: the stack still shows where it was thrown.
[[noreturn]] void report_uncaught() {
  std::array<void*, 128> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  Running& now = running();
  now.console->err << "\nthrown at (addresses for addr2line -Cfe):\n" << std::flush;
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
  remove_temporaries();
  const int code = report_failure(*now.console, current_failure(), now.options, now.command);
  const bool written = write_standard_output(now.console->out.str());
  _exit(written ? code : exit_code(ErrorKind::io));
}

struct Runner {
  Console& console;
  const Environment& environment;

  int operator()(const PrintText& c) const {
    console.out << c.text;
    return 0;
  }
  int operator()(const QuantizeArguments& c) const { return run_quantize(c, console, environment); }
  int operator()(const VerifyArguments& c) const { return run_verify(c, console, environment); }
  int operator()(const InspectArguments& c) const { return run_inspect(c, console, environment); }
  int operator()(const RuleArguments& c) const { return run_rule(c, console); }
  int operator()(const TargetsArguments& c) const { return run_targets(c, console); }
  int operator()(const RecipesArguments& c) const { return run_recipes(c, console); }
  int operator()(const StatsArguments& c) const { return run_stats(c, console); }
  int operator()(const EncodingsArguments& c) const {
    return run_encodings(c, console, environment);
  }
  int operator()(const ExplainArguments& c) const { return run_explain(c, console, environment); }
};

OutputOptions options_of(const Command& command) {
  return std::visit([](const auto& c) { return c.common; }, command);
}

std::string command_name(const Command& command) {
  constexpr std::array<std::string_view, std::variant_size_v<Command>> kNames = {
      "",        "quantize",  "inspect", "rule",   "targets",
      "recipes", "encodings", "explain", "verify", "stats"};
  if (const auto* quantize = std::get_if<QuantizeArguments>(&command)) {
    return quantize->command;
  }
  if (const auto* encodings = std::get_if<EncodingsArguments>(&command)) {
    return "encodings " + encodings->action;
  }
  if (const auto* stats = std::get_if<StatsArguments>(&command)) {
    return "stats " + stats->action;
  }
  return std::string(kNames[command.index()]);
}

}  // namespace

int run(const std::vector<std::string>& arguments, Console& console,
        const Environment& environment) {
  Command command;
  try {
    command = parse_arguments(arguments);
  } catch (...) {
    return report_failure(console, current_failure(), {}, "");
  }
  const OutputOptions options = options_of(command);
  const Runner runner{.console = console, .environment = environment};
  if (options.debug) {
    running() = {.console = &console, .options = options, .command = command_name(command)};
    std::set_terminate(report_uncaught);
    return std::visit(runner, command);
  }
  try {
    return std::visit(runner, command);
  } catch (...) {
    return report_failure(console, current_failure(), options, command_name(command));
  }
}

}  // namespace halfstep::cli
