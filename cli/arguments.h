#pragma once

#include <optional>
#include <string>
#include <utility>
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

/// What some forms of models leave open; the same for all commands that read one.
struct ModelForm {
  std::string signature{};
  std::vector<std::string> inputs{}, outputs{};
};

struct QuantizeArguments {
  OutputOptions common{};
  ModelForm form{};
  std::string command = "quantize";  ///< as the user called it: also "encodings apply"
  std::string model{};
  std::string calibration{};
  std::string input_spec{};
  bool cast_inputs = false;
  std::string output{};
  std::string encodings{};
  std::string encodings_out{};
  bool force = false;
  bool dry_run = false;
  std::string recipe{};  ///< empty: chosen by the command
  std::string method{};  ///< empty: the recipe's
  std::optional<double> percentile{};
  std::string stats{};      ///< statistics in place of samples
  std::string resume{};     ///< of calibrate
  std::string stats_out{};  ///< of calibrate: its result
  std::vector<std::string> set{};
  std::vector<std::string> exclude{};
  std::string target = "cpu";
  std::vector<std::string> skip{};
  bool fallback = false;
  bool convert = false;         ///< adapt what is given: nothing to quantize is no reason to stop
  std::string target_remark{};  ///< what was chosen for the user about the target, to be said
  int threads = 0;              ///< 0: chosen by the command
  bool check = true;
  int check_samples = 4;
  bool strict = false;
  bool lenient = false;
  std::string onnxruntime{};
  std::string dlc{};       ///< the result as a DLC file
  bool validate = false;   ///< ask the target's own validator
  std::string qnn_libs{};  ///< folder of Qualcomm's libraries
  std::vector<std::pair<std::string, std::string>> input_dims{};  ///< name, "1,3,224,224"
};

struct ExplainArguments {
  OutputOptions common{};
  std::string model{};
  std::string name{};  ///< a tensor or node; empty: everything
};

struct VerifyArguments {
  OutputOptions common{};
  ModelForm form{};
  std::string model{};                ///< a Q/DQ model, or a DLC
  std::string simulation{};           ///< the Q/DQ model beside a DLC
  std::string arithmetic = "target";  ///< of the simulation
  std::string float_model{};
  std::string data{};
  bool cast_inputs = false;
  std::string on{};
  std::string arch{};
  std::string dumps{};
  std::string tensors = "outputs";
  int samples = 0;  ///< 0: all
  std::string fail_on{};
  int threads = 0;  ///< 0: chosen by the command
  std::string qnn_libs{};
  std::string onnxruntime{};
};

struct InspectArguments {
  OutputOptions common{};
  ModelForm form{};
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

/// `halfstep encodings ACTION`, but for apply, which quantizes.
struct EncodingsArguments {
  OutputOptions common{};
  ModelForm form{};
  std::string action{};
  std::vector<std::string> files{};
  std::string model{};
  std::string to = "2.0.0";
  std::string output{};
  std::string glob{};             ///< show
  std::string fail_on = "error";  ///< lint
  double tolerance = 1e-6;        ///< diff
  bool common_only = false;       ///< diff
  bool force = false;
  bool lenient = false;
};

/// `halfstep stats ACTION`.
struct StatsArguments {
  OutputOptions common{};
  std::string action{};
  std::vector<std::string> files{};
  std::string output{};
  bool force = false;
};

/// --help and --version.
struct PrintText {
  OutputOptions common{};
  std::string text{};
};

using Command = std::variant<PrintText, QuantizeArguments, InspectArguments, RuleArguments,
                             TargetsArguments, RecipesArguments, EncodingsArguments,
                             ExplainArguments, VerifyArguments, StatsArguments>;

/// What the command line asks for. `arguments` are the words after the program's name.
/// Errors: UsageError; an unknown command or option comes with the closest one.
[[nodiscard]] Command parse_arguments(const std::vector<std::string>& arguments);

}  // namespace halfstep::cli
