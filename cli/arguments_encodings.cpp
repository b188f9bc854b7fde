// The options of `halfstep encodings`.
#include <cstddef>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/argument_parts.h"
#include "cli/command_error.h"
#include "halfstep/support/error.h"

namespace halfstep::cli {
namespace {

CLI::App* encodings_action(CLI::App& group, EncodingsArguments& a, const char* action,
                           const char* text, const char* files, const char* files_text) {
  CLI::App* app = group.add_subcommand(action, text);
  app->add_option(files, a.files, files_text)->group("Input");
  return app;
}

void add_model_of_files(CLI::App& app, EncodingsArguments& a) {
  app.add_option("--model", a.model,
                 "the model they belong to: names are checked, and what old versions leave to the "
                 "graph is known")
      ->type_name("FILE")
      ->group("Input");
  app.add_flag("--lenient", a.lenient, "entries for tensors that the model lacks are warnings")
      ->group("Input");
}

void add_written_file(CLI::App& app, EncodingsArguments& a) {
  app.add_option("--to", a.to,
                 "version of the file: 2.0.0, 2.1.0, 1.0.0 or 0.6.1; 2.0.0 if not given")
      ->type_name("VERSION")
      ->group("Result");
  app.add_option("-o,--output", a.output, "where it goes; standard output if not given")
      ->type_name("FILE")
      ->group("Result");
  app.add_flag("--force", a.force, "overwrite an existing file")->group("Result");
}

void add_reading_actions(CLI::App& group, EncodingsArguments& a, std::vector<CLI::App*>& apps) {
  CLI::App* lint = encodings_action(group, a, "lint", "Check a file: faults, doubtful entries",
                                    "FILE", "an encodings file of any version");
  lint->add_option("--fail-on", a.fail_on, "exit 1 from here on: error, warning or never")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"error", "warning", "never"}).description(""))
      ->group("Result");
  CLI::App* diff = encodings_action(group, a, "diff", "Compare two files by meaning, not by text",
                                    "FILES", "two encodings files");
  diff->add_flag("--common", a.common_only, "only tensors that both files speak of")
      ->group("Result");
  diff->add_option("--tolerance", a.tolerance, "relative, of scales; 1e-6 if not given")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->group("Result");
  CLI::App* show = encodings_action(group, a, "show", "Show the entries of a file", "FILE",
                                    "an encodings file of any version");
  show->add_option("--entry", a.glob, "only entries whose names match")
      ->type_name("GLOB")
      ->group("Input");
  for (CLI::App* app : {lint, diff, show}) {
    add_model_of_files(*app, a);
    apps.push_back(app);
  }
}

void add_writing_actions(CLI::App& group, EncodingsArguments& a, std::vector<CLI::App*>& apps) {
  CLI::App* convert = encodings_action(group, a, "convert", "Write a file in another version",
                                       "FILE", "an encodings file of any version");
  CLI::App* merge = encodings_action(group, a, "merge", "Lay files over each other; the last wins",
                                     "FILES", "encodings files of any version");
  CLI::App* from_model =
      group.add_subcommand("from-model", "Write the encodings that a model with Q/DQ holds");
  from_model
      ->add_option("MODEL", a.model, "a model with encodings: Q/DQ, integer operators, FakeQuant")
      ->group("Input");
  for (CLI::App* app : {convert, merge}) {
    add_model_of_files(*app, a);
  }
  for (CLI::App* app : {convert, merge, from_model}) {
    add_written_file(*app, a);
    apps.push_back(app);
  }
}

/// A float model and a file: the part of quantize that needs no samples.
Subcommand apply_command(CLI::App& group, QuantizeArguments& a) {
  a.command = "encodings apply";
  a.check = false;
  CLI::App* app =
      group.add_subcommand("apply", "Write a model with the encodings of a file, as Q/DQ");
  app->add_option("MODEL", a.model, "a model, float or with encodings")->group("Input");
  app->add_option("FILE", a.encodings, "an encodings file of any version")->group("Input");
  app->add_option("-o,--output", a.output, "the quantized model")
      ->type_name("FILE")
      ->group("Result");
  app->add_flag("--force", a.force, "overwrite an existing file")->group("Result");
  CLI::Option* strict = app->add_flag("--strict", a.strict, "warnings are errors")->group("Input");
  app->add_flag("--lenient", a.lenient, "entries for tensors that the model lacks are warnings")
      ->excludes(strict)
      ->group("Input");
  add_model_form(*app, a.form);
  add_common(*app, a.common);
  add_talk(*app, a.common);
  return {.app = app, .common = &a.common, .result = [&a] { return Command(a); }};
}

/// `files`: how many an action takes at least and at most.
void check_files(const CLI::App& app, const EncodingsArguments& a) {
  const std::string& action = app.get_name();
  if (action == "from-model") {
    if (a.model.empty()) {
      throw UsageError("no model given", "usage: halfstep encodings from-model MODEL -o FILE");
    }
    return;
  }
  const std::size_t least = action == "diff" || action == "merge" ? 2 : 1;
  const bool many = action == "merge";
  if (a.files.size() < least || (!many && a.files.size() > least)) {
    throw UsageError("encodings " + action + " takes " +
                         (many         ? "two files or more"
                          : least == 2 ? "two files"
                                       : "one file") +
                         ", found " + std::to_string(a.files.size()),
                     "'halfstep encodings " + action + " --help' lists what it takes");
  }
}

}  // namespace

void add_encodings_commands(CLI::App& root, EncodingsArguments& a, QuantizeArguments& apply,
                            std::vector<Subcommand>& commands) {
  CLI::App* group = root.add_subcommand(
      "encodings", "Encodings files: check, compare, convert, merge, take from a model, apply");
  group->set_help_flag("-h,--help", "show this text")->group(kHelpGroup);
  group->require_subcommand(0, 1);
  group->allow_extras();
  std::vector<CLI::App*> apps;
  add_reading_actions(*group, a, apps);
  add_writing_actions(*group, a, apps);
  for (CLI::App* app : apps) {
    add_model_form(*app, a.form);
    add_common(*app, a.common);
    add_talk(*app, a.common);
    commands.push_back({.app = app, .common = &a.common, .result = [&a, app] {
                          check_files(*app, a);
                          a.action = app->get_name();
                          return Command(a);
                        }});
  }
  commands.push_back(apply_command(*group, apply));
}

void refuse_group(const CLI::App& group) {
  const std::vector<std::string> rest = group.remaining();
  std::vector<std::string> names;
  for (const CLI::App* sub : all_commands(group)) {
    names.push_back(sub->get_name());
  }
  const std::string help = "'halfstep " + group.get_name() + " --help' lists what it does";
  if (rest.empty()) {
    throw UsageError(group.get_name() + ": no action given", help);
  }
  const std::string close = closest_match(rest.front(), names);
  throw UsageError(group.get_name() + ": unknown action '" + rest.front() + "'",
                   close.empty() ? help : "a similar one exists: '" + close + "'");
}

}  // namespace halfstep::cli
