#pragma once

#include <string>
#include <variant>
#include <vector>

namespace halfstep::cli {

/// How a command talks; the same for all commands.
struct OutputOptions {
  int quiet = 0;  ///< 1: no progress, no warnings; 2: no summary either
  bool verbose = false;
  bool json = false;
  bool progress = true;
  bool debug = false;
};

struct QuantizeArguments {
  OutputOptions common{};
  std::string model{};
  std::string calibration{};
  std::string input_spec{};
  bool cast_inputs = false;
  std::string output{};
  std::string encodings_out{};
  bool force = false;
  bool dry_run = false;
  std::string recipe = "a8w8";
  std::vector<std::string> set{};
  std::vector<std::string> exclude{};
  std::string target = "cpu";
  int threads = 0;  ///< 0: chosen by the command
  bool check = true;
  int check_samples = 4;
  bool strict = false;
  std::string onnxruntime{};
};

struct InspectArguments {
  OutputOptions common{};
  std::string model{};
};

struct RuleArguments {
  OutputOptions common{};
  std::string id{};  ///< empty: list all
};

struct TargetsArguments {
  OutputOptions common{};
  std::string name{};  ///< empty: list all; else a name or a file
};

struct RecipesArguments {
  OutputOptions common{};
  std::string name{};
};

/// --help and --version.
struct PrintText {
  OutputOptions common{};
  std::string text{};
};

using Command = std::variant<PrintText, QuantizeArguments, InspectArguments, RuleArguments,
                             TargetsArguments, RecipesArguments>;

/// What the command line asks for. `arguments` are the words after the program's name.
/// Errors: UsageError; an unknown command or option comes with the closest one.
[[nodiscard]] Command parse_arguments(const std::vector<std::string>& arguments);

}  // namespace halfstep::cli
