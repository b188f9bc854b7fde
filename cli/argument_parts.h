#pragma once

// Pieces that the commands' options are put together from.
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/arguments.h"

namespace halfstep::cli {

constexpr const char* kHelpGroup = "Messages";

struct Subcommand {
  CLI::App* app = nullptr;
  OutputOptions* common = nullptr;
  std::function<Command()> result{};
};

/// --help, --json and --debug.
void add_common(CLI::App& app, OutputOptions& common);
CLI::Option* add_verbose(CLI::App& app, OutputOptions& common, const char* text);
/// How much is said: -q, -v, --no-progress.
void add_talk(CLI::App& app, OutputOptions& common);

/// --signature, --inputs, --outputs: what a model of TensorFlow leaves open.
void add_model_form(CLI::App& app, ModelForm& form);

/// --skip: which steps are left out.
void add_skip(CLI::App& app, QuantizeArguments& arguments, const std::string& group);
/// --fallback and --skip: how a model is made to run on a target.
void add_adaptation(CLI::App& app, QuantizeArguments& arguments, const std::string& group);

/// --calibration, --input-spec and --cast-inputs.
void add_samples(CLI::App& app, QuantizeArguments& arguments);
/// --recipe, --set, --exclude, --target.
void add_wishes(CLI::App& app, QuantizeArguments& arguments, const std::string& group);
/// --method and --percentile.
void add_method(CLI::App& app, QuantizeArguments& arguments, const std::string& group);
/// --threads and --onnxruntime.
void add_run(CLI::App& app, QuantizeArguments& arguments, const std::string& group);

/// -d: extents that the model leaves free.
void add_input_extents(CLI::App& app, QuantizeArguments& arguments, const std::string& group);
/// --validate, --qnn-libs and add_input_extents(): what Qualcomm's own libraries are asked.
void add_own_libraries(CLI::App& app, QuantizeArguments& arguments, const std::string& group);

[[nodiscard]] std::vector<const CLI::App*> all_commands(const CLI::App& app);
/// "quantize", "encodings lint".
[[nodiscard]] std::string full_name(const CLI::App& app);

/// `halfstep encodings` and its actions.
void add_encodings_commands(CLI::App& root, EncodingsArguments& arguments, QuantizeArguments& apply,
                            std::vector<Subcommand>& commands);
/// `halfstep convert`, which also takes qairt-converter's spellings.
void add_convert_command(CLI::App& root, QuantizeArguments& arguments,
                         std::vector<Subcommand>& commands);
/// `halfstep verify`.
void add_verify_command(CLI::App& root, VerifyArguments& arguments,
                        std::vector<Subcommand>& commands);
/// `halfstep calibrate` and `halfstep stats`.
void add_statistics_commands(CLI::App& root, QuantizeArguments& calibrate, StatsArguments& stats,
                             std::vector<Subcommand>& commands);
/// `halfstep encodings` or `halfstep stats` without an action: an error with the closest one.
[[noreturn]] void refuse_group(const CLI::App& group);

}  // namespace halfstep::cli
