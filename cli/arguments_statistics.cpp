// The options of `halfstep calibrate` and `halfstep stats`, and those that quantize has of samples.
#include <charconv>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/argument_parts.h"
#include "cli/command_error.h"

namespace halfstep::cli {
namespace {

constexpr const char* kUsage = "usage: halfstep calibrate MODEL --calibration DATA -o STATS";

void require_complete(const QuantizeArguments& a) {
  if (a.model.empty()) {
    throw UsageError("no model given", kUsage);
  }
  if (a.calibration.empty()) {
    throw UsageError("no samples given", "add --calibration DATA");
  }
  if (a.stats_out.empty()) {
    throw UsageError("no output given", "add -o STATS");
  }
}

Subcommand calibrate_command(CLI::App& root, QuantizeArguments& a) {
  a.command = "calibrate";
  a.check = false;
  CLI::App* app = root.add_subcommand(
      "calibrate", "Run a model on samples and save what quantize needs of them");
  app->add_option("MODEL", a.model, "a model, as for quantize")->group("Input");
  add_samples(*app, a);
  app->add_option("--encodings", a.encodings,
                  "an encodings file: what it says of a tensor needs no samples")
      ->type_name("FILE")
      ->group("Input");
  app->add_option("--resume", a.resume, "go on from statistics of other samples")
      ->type_name("STATS")
      ->group("Input");
  app->add_option("-o,--output", a.stats_out, "the statistics")
      ->type_name("STATS")
      ->group("Result");
  app->add_flag("--force", a.force, "overwrite an existing file")->group("Result");
  const std::string what = "What is observed";
  add_wishes(*app, a, what);
  add_skip(*app, a, what);
  add_method(*app, a, what);
  add_input_extents(*app, a, what);
  const std::string run = "How it runs";
  add_run(*app, a, run);
  CLI::Option* strict = app->add_flag("--strict", a.strict, "warnings are errors")->group(run);
  app->add_flag("--lenient", a.lenient,
                "entries of --encodings for tensors that the model lacks are warnings")
      ->excludes(strict)
      ->group(run);
  add_model_form(*app, a.form);
  add_common(*app, a.common);
  add_talk(*app, a.common);
  return {.app = app, .common = &a.common, .result = [&a] {
            require_complete(a);
            return Command(a);
          }};
}

void check_files(const CLI::App& app, const StatsArguments& a) {
  const bool merge = app.get_name() == "merge";
  if (a.files.empty() || (!merge && a.files.size() > 1)) {
    throw UsageError("stats " + app.get_name() + " takes " +
                         (merge ? "one file or more" : "one file") + ", found " +
                         std::to_string(a.files.size()),
                     "'halfstep stats " + app.get_name() + " --help' lists what it takes");
  }
  if (merge && a.output.empty()) {
    throw UsageError("no output given", "add -o STATS");
  }
  if (a.output == "-") {
    throw UsageError("-o - : results are written to files only",
                     "give a name, such as all.stats (./- is a file named -)");
  }
}

/// Empty if the text is a percentile.
std::string percentile_problem(const std::string& text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && stop == text.data() + text.size();
  return number && value > 50 && value <= 100
             ? ""
             : "--percentile: expected a number above 50 and at most 100, found '" + text + "'";
}

}  // namespace

void add_samples(CLI::App& app, QuantizeArguments& a) {
  app.add_option("--calibration", a.calibration,
                 "samples: a folder of .npz (arrays by input name) or .npy (one input), one .npz, "
                 "or with --input-spec a folder of images")
      ->type_name("DATA")
      ->group("Input");
  app.add_option("--input-spec", a.input_spec,
                 "how images become the input: a JSON file, or "
                 "'size=224x224,mean=..,std=..,layout=NCHW,order=RGB'")
      ->type_name("SPEC")
      ->group("Input");
  app.add_flag("--cast-inputs", a.cast_inputs,
               "convert samples of another type to the type of the model's input")
      ->group("Input");
}

void add_method(CLI::App& app, QuantizeArguments& a, const std::string& group) {
  app.add_option("--method", a.method,
                 "how ranges of activations are chosen from the samples: minmax (if not given, or "
                 "what the recipe says), moving_average, percentile, entropy, mse, sqnr")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--percentile", a.percentile,
                 "of method percentile: ranges reach from the (100 - P)th to the Pth percentile of "
                 "all values; 99.99 if not given")
      ->type_name("P")
      ->check(CLI::Validator(percentile_problem, "").description(""))
      ->group(group);
}

void add_statistics_commands(CLI::App& root, QuantizeArguments& calibrate, StatsArguments& stats,
                             std::vector<Subcommand>& commands) {
  commands.push_back(calibrate_command(root, calibrate));
  CLI::App* group = root.add_subcommand("stats", "Statistics that calibrate saved: merge, show");
  group->set_help_flag("-h,--help", "show this text")->group(kHelpGroup);
  group->require_subcommand(0, 1);
  group->allow_extras();
  CLI::App* merge = group->add_subcommand(
      "merge", "The statistics of all samples of several files, in any order");
  merge->add_option("STATS", stats.files, "files of the same model and method")->group("Input");
  merge->add_option("-o,--output", stats.output, "the merged statistics")
      ->type_name("STATS")
      ->group("Result");
  merge->add_flag("--force", stats.force, "overwrite an existing file")->group("Result");
  CLI::App* show = group->add_subcommand("show", "Show what was seen of each tensor");
  show->add_option("STATS", stats.files, "a file of statistics")->group("Input");
  for (CLI::App* app : {merge, show}) {
    add_common(*app, stats.common);
    add_talk(*app, stats.common);
    commands.push_back({.app = app, .common = &stats.common, .result = [&stats, app] {
                          check_files(*app, stats);
                          stats.action = app->get_name();
                          return Command(stats);
                        }});
  }
}

}  // namespace halfstep::cli
