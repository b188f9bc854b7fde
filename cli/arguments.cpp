#include "cli/arguments.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/argument_parts.h"
#include "cli/command_error.h"
#include "cli/help.h"
#include "halfstep/support/error.h"
#include "halfstep/version.h"

namespace halfstep::cli {
namespace {

// Documented for later versions: refused by name, so that nobody takes them for spelling mistakes.
constexpr std::array<std::string_view, 1> kLaterCommands = {"compare"};
constexpr std::array<std::string_view, 1> kLaterOptions = {"--report"};

constexpr const char* kExitCodes =
    "exit codes: 0 done, 1 done with findings, 2 wrong usage, 3 nothing to do, 4 bad input or "
    "output,\n            5 the target or engine can't, 70 internal error, 130 interrupted";

/// Everything that the parser writes to; one member is used.
struct Parsed {
  QuantizeArguments quantize{};
  InspectArguments inspect{};
  RuleArguments rule{};
  TargetsArguments targets{};
  RecipesArguments recipes{};
  EncodingsArguments encodings{};
  QuantizeArguments apply{};
  QuantizeArguments convert{};
  ExplainArguments explain{};
  VerifyArguments verify{};
  QuantizeArguments calibrate{};
  StatsArguments stats{};
};

void add_quantize_data(CLI::App& app, QuantizeArguments& a) {
  app.add_option("MODEL", a.model,
                 "a model of ONNX, TFLite, TensorFlow or PyTorch; encodings that it has are taken "
                 "over")
      ->group("Input");
  add_samples(app, a);
  app.add_option("--stats", a.stats,
                 "statistics of samples that 'halfstep calibrate' saved, in place of "
                 "--calibration (whose samples are then for the check only)")
      ->type_name("STATS")
      ->group("Input");
  app.add_option("--encodings", a.encodings,
                 "an encodings file of any version; it wins over the model, the recipe and the "
                 "samples. Without samples and recipe only what it says is quantized")
      ->type_name("FILE")
      ->group("Input");
  app.add_option("-o,--output", a.output, "the quantized model (ONNX with Q/DQ)")
      ->type_name("FILE")
      ->group("Result");
  app.add_option("--encodings-out", a.encodings_out, "the encodings as JSON, version 2.0.0")
      ->type_name("FILE")
      ->group("Result");
  app.add_option("--dlc", a.dlc, "the model as a DLC file; needs an HTP target")
      ->type_name("FILE")
      ->group("Result");
  app.add_flag("--force", a.force, "overwrite existing files")->group("Result");
  app.add_flag("--dry-run", a.dry_run, "plan and report the sizes; write nothing")->group("Result");
}

void add_quantize_choices(CLI::App& app, QuantizeArguments& a) {
  const std::string what = "What is quantized";
  add_wishes(app, a, what);
  add_adaptation(app, a, what);
  add_method(app, a, what);
  add_own_libraries(app, a, what);
  const std::string run = "How it runs";
  add_run(app, a, run);
  CLI::Option* no_check =
      app.add_flag("!--no-check", a.check, "do not run the written model to measure its error")
          ->group(run);
  app.add_option("--check-samples", a.check_samples, "samples the check compares; 4 if not given")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000).description(""))
      ->excludes(no_check)
      ->group(run);
  CLI::Option* strict = app.add_flag("--strict", a.strict, "warnings are errors")->group(run);
  app.add_flag("--lenient", a.lenient,
               "entries of --encodings for tensors that the model lacks are warnings")
      ->excludes(strict)
      ->group(run);
}

Subcommand quantize_command(CLI::App& root, QuantizeArguments& a) {
  CLI::App* app = root.add_subcommand(
      "quantize", "Quantize a model: calibrate, choose encodings, write it, measure it");
  add_quantize_data(*app, a);
  add_quantize_choices(*app, a);
  add_model_form(*app, a.form);
  add_common(*app, a.common);
  add_talk(*app, a.common);
  return {.app = app, .common = &a.common, .result = [&a] { return Command(a); }};
}

Subcommand inspect_command(CLI::App& root, InspectArguments& a) {
  CLI::App* app =
      root.add_subcommand("inspect", "Show a model: ops, types, sizes, existing encodings, traps");
  app->add_option("MODEL", a.model, "a model of ONNX, TFLite, TensorFlow or PyTorch, or a DLC")
      ->group("Input");
  add_model_form(*app, a.form);
  add_common(*app, a.common);
  add_verbose(*app, a.common, "every row instead of the first ones");
  return {.app = app, .common = &a.common, .result = [&a] { return Command(a); }};
}

Subcommand explain_command(CLI::App& root, ExplainArguments& a) {
  CLI::App* app = root.add_subcommand(
      "explain", "Say why each tensor of an adapted model got its type, or one of them");
  app->add_option("MODEL", a.model, "a model that halfstep adapted")->group("Input");
  app->add_option("NAME", a.name, "a tensor or node; all if not given")->group("Input");
  add_common(*app, a.common);
  return {.app = app, .common = &a.common, .result = [&a] { return Command(a); }};
}

template <typename Arguments>
Subcommand listing_command(CLI::App& root, Arguments& a, std::string& value, const char* name,
                           const char* argument, const std::array<const char*, 2>& texts) {
  CLI::App* app = root.add_subcommand(name, texts[0]);
  app->add_option(argument, value, texts[1])->group("Input");
  add_common(*app, a.common);
  return {.app = app, .common = &a.common, .result = [&a] { return Command(a); }};
}

std::vector<Subcommand> add_commands(CLI::App& root, Parsed& parsed) {
  std::vector<Subcommand> commands;
  commands.push_back(quantize_command(root, parsed.quantize));
  add_statistics_commands(root, parsed.calibrate, parsed.stats, commands);
  add_convert_command(root, parsed.convert, commands);
  commands.push_back(inspect_command(root, parsed.inspect));
  add_verify_command(root, parsed.verify, commands);
  commands.push_back(explain_command(root, parsed.explain));
  commands.push_back(listing_command(root, parsed.rule, parsed.rule.id, "rule", "ID",
                                     {"Explain a message, such as recipe/block-fallback",
                                      "the id in warning[ID]; without one all are listed"}));
  commands.push_back(
      listing_command(root, parsed.targets, parsed.targets.name, "targets", "NAME",
                      {"List the targets, or show one", "a shipped target or a target file"}));
  commands.push_back(listing_command(root, parsed.recipes, parsed.recipes.name, "recipes", "NAME",
                                     {"List the recipes, or show one", "a shipped recipe"}));
  add_encodings_commands(root, parsed.encodings, parsed.apply, commands);
  for (const Subcommand& command : commands) {
    command.app->allow_extras();
  }
  return commands;
}

std::string entry_name(const CLI::Option& option) {
  if (option.get_positional()) {
    return option.get_name(true);
  }
  std::string text = option.get_name(false, true);
  std::erase(text, '!');
  for (std::size_t comma = text.find(','); comma != std::string::npos;
       comma = text.find(',', comma + 2)) {
    text.insert(comma + 1, " ");
  }
  const std::size_t negated = text.find('{');  // of flags that mean the opposite
  text.resize(std::min(negated, text.size()));
  return option.get_expected_min() == 0 ? text : text + " " + option.get_type_name();
}

HelpPage help_page(const CLI::App& app) {
  HelpPage page{.usage = "halfstep", .description = app.get_description()};
  if (app.get_parent() != nullptr) {
    page.usage += " " + full_name(app);
    page.footer = app.get_name() == "quantize" || app.get_name() == "calibrate" ||
                          app.get_name() == "verify" || !all_commands(app).empty()
                      ? kExitCodes
                      : "";
  }
  if (!all_commands(app).empty()) {
    page.usage += " COMMAND [OPTIONS]";
    HelpGroup group{.title = "Commands"};
    for (const CLI::App* sub : all_commands(app)) {
      group.entries.emplace_back(sub->get_name(), sub->get_description());
    }
    page.groups.push_back(std::move(group));
    page.footer = "'" + page.usage.substr(0, page.usage.find(" [")) +
                  " --help' explains a command.\n" + std::string(kExitCodes);
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      const std::string name = option->get_name(true);
      const bool needed = name == "MODEL" || name == "STATS";
      page.usage +=
          needed ? " " + name + (app.get_name() == "merge" ? " ..." : "") : " [" + name + "]";
    }
    const std::string& title = option->get_group();
    if (page.groups.empty() || page.groups.back().title != title) {
      page.groups.push_back({.title = title});
    }
    page.groups.back().entries.emplace_back(entry_name(*option), option->get_description());
  }
  page.usage += all_commands(app).empty() ? " [OPTIONS]" : "";
  return page;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool known_to_a_command(const std::string& option, const CLI::App& root) {
  return std::ranges::any_of(all_commands(root), [&](const CLI::App* command) {
    return std::ranges::count(option_names(*command), option) > 0;
  });
}

[[noreturn]] void refuse_command(const std::string& word, const CLI::App& root) {
  if (contains(kLaterCommands, word)) {
    throw UsageError("the command '" + word + "' is not available yet",
                     "'halfstep --help' lists the commands of this version");
  }
  const bool option = word.starts_with("-");
  std::vector<std::string> names = option ? option_names(root) : std::vector<std::string>();
  for (const CLI::App* sub : all_commands(root)) {
    names.push_back(sub->get_name());
  }
  if (option && known_to_a_command(word, root)) {
    throw UsageError("unknown option '" + word + "' before the command",
                     "options come after the command: halfstep COMMAND " + word);
  }
  const std::string close = closest_match(word, names);
  throw UsageError((option ? "unknown option '" : "unknown command '") + word + "'",
                   close.empty() ? "'halfstep --help' lists the commands"
                                 : "a similar one exists: '" + close + "'");
}

/// Words of a command that no option or argument took.
void refuse_extras(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining();
  const auto option = std::ranges::find_if(
      rest, [](const std::string& word) { return word.starts_with("-") && word != "--"; });
  const std::string help = "'halfstep " + full_name(app) + " --help' lists what it takes";
  if (option != rest.end()) {
    const std::string name = option->substr(0, option->find('='));
    if (contains(kLaterOptions, name) && app.get_name() == "quantize") {
      throw UsageError("the option '" + name + "' is not available yet", help);
    }
    const std::string close = closest_match(name, option_names(app));
    throw UsageError("unknown option '" + name + "'",
                     close.empty() ? help : "a similar one exists: '" + close + "'");
  }
  const auto word = std::ranges::find_if(rest, [](const std::string& w) { return w != "--"; });
  if (word != rest.end()) {
    throw UsageError("unexpected argument '" + *word + "'", help);
  }
}

/// The parser's "--recipe: At Most 1 required but received 2" and the like, in plain words.
std::string plain_words(const std::string& message) {
  const std::size_t colon = message.find(':');
  const std::string option = message.substr(0, colon);
  if (message.find("At Most 1 required but received") != std::string::npos) {
    return option + " is given more than once; it takes one value";
  }
  const std::size_t required = message.find(": 1 required ");
  if (required != std::string::npos && message.ends_with(" missing")) {
    const std::size_t begin = required + 13;
    return option + " needs a value (" + message.substr(begin, message.size() - 8 - begin) + ")";
  }
  return message;
}

/// Option names may be written with "_" or "-" between their words.
std::string with_known_separators(const std::string& word, const CLI::App& root) {
  const std::string name = word.substr(0, word.find('='));
  if (!name.starts_with("--") || known_to_a_command(name, root)) {
    return word;
  }
  for (const char separator : {'-', '_'}) {
    std::string other = name;
    std::replace_if(
        other.begin() + 2, other.end(), [](char c) { return c == '-' || c == '_'; }, separator);
    if (known_to_a_command(other, root)) {
      return other + word.substr(name.size());
    }
  }
  return word;
}

/// Pages print "--option" with one typographic dash, or one and a hyphen; whoever copies the line
/// means the option. Only options that a command has.
std::string with_plain_dashes(const std::string& word, const CLI::App& root) {
  constexpr std::array<std::string_view, 2> kDashes = {"\xE2\x80\x93", "\xE2\x80\x94"};  // en, em
  for (const std::string_view dash : kDashes) {
    if (word.starts_with(dash)) {
      const std::size_t name = word.find_first_not_of('-', dash.size());
      const std::string plain = "--" + (name == std::string::npos ? "" : word.substr(name));
      return known_to_a_command(plain.substr(0, plain.find('=')), root) ? plain : word;
    }
  }
  return with_known_separators(word, root);
}

/// The last one first, as the parser takes them.
std::vector<std::string> words_to_parse(const std::vector<std::string>& arguments,
                                        const CLI::App& root) {
  std::vector<std::string> words;
  words.reserve(arguments.size());
  for (auto word = arguments.rbegin(); word != arguments.rend(); ++word) {
    words.push_back(with_plain_dashes(*word, root));
  }
  return words;
}

/// "encodings" or "stats", if the words name it.
const CLI::App* used_group(const CLI::App& root) {
  for (const CLI::App* command : all_commands(root)) {
    if (!all_commands(*command).empty() && command->parsed()) {
      return command;
    }
  }
  return nullptr;
}

void require_model(const CLI::App& app, const std::string& model) {
  if (model.empty()) {
    throw UsageError("no model given", "usage: halfstep " + full_name(app) + " MODEL ...");
  }
}

}  // namespace

Command parse_arguments(const std::vector<std::string>& arguments) {
  CLI::App root("halfstep " + std::string(kVersion) + ": quantizes neural networks", "halfstep");
  Parsed parsed;
  bool version = false;
  root.set_help_flag("-h,--help", "show this text")->group(kHelpGroup);
  root.add_flag("-V,--version", version, "show the version")->group(kHelpGroup);
  root.allow_extras();
  root.require_subcommand(0, 1);
  const std::vector<Subcommand> commands = add_commands(root, parsed);
  const auto used = [&] {
    return std::ranges::find_if(commands, [](const auto& c) { return c.app->parsed(); });
  };

  try {
    root.parse(words_to_parse(arguments, root));
  } catch (const CLI::CallForHelp&) {
    const auto command = used();
    const CLI::App* group = used_group(root);
    const CLI::App& shown = command != commands.end() ? *command->app
                            : group != nullptr        ? *group
                                                      : root;
    return PrintText{.text = to_text(help_page(shown))};
  } catch (const CLI::ParseError& e) {
    const auto command = used();
    const std::string name = command == commands.end() ? "" : full_name(*command->app) + " ";
    throw UsageError(plain_words(e.what()), "'halfstep " + name + "--help' lists what it takes");
  }
  const std::vector<std::string> rest = root.remaining();
  const auto command = used();
  if (!rest.empty()) {
    refuse_command(rest.front(), root);
  }
  if (version) {
    return PrintText{.text = "halfstep " + std::string(kVersion) + "\n"};
  }
  if (const CLI::App* group = used_group(root); command == commands.end() && group != nullptr) {
    refuse_group(*group);
  }
  if (command == commands.end()) {
    throw UsageError("no command given", "'halfstep --help' lists the commands");
  }
  refuse_extras(*command->app);
  if (command->app->get_name() == "quantize") {
    require_model(*command->app, parsed.quantize.model);
  } else if (command->app->get_name() == "inspect") {
    require_model(*command->app, parsed.inspect.model);
  } else if (command->app->get_name() == "explain") {
    require_model(*command->app, parsed.explain.model);
  } else if (command->app->get_name() == "apply") {
    require_model(*command->app, parsed.apply.model);
    if (parsed.apply.encodings.empty()) {
      throw UsageError("no encodings file given",
                       "usage: halfstep encodings apply MODEL FILE -o OUT.onnx");
    }
  }
  return command->result();
}

}  // namespace halfstep::cli
