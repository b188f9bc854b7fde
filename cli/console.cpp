#include "cli/console.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_error.h"
#include "cli/json_document.h"
#include "cli/text.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/diagnostic_text.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {
namespace {

constexpr std::size_t kShownOfRule = 3;

enum class Style : std::uint8_t { error, warning, note, help };

std::string styled(const Console& console, Style style, const std::string& text) {
  constexpr std::array<std::string_view, 4> kCodes = {"\033[1;31m", "\033[1;33m", "\033[1;34m",
                                                      "\033[1;36m"};
  if (!console.color) {
    return text;
  }
  return std::string(kCodes[static_cast<std::size_t>(style)]) + text + "\033[0m";
}

/// Messages of other libraries may have several lines: all but the first are indented.
std::string message_lines(std::string_view message) {
  std::string text;
  while (!message.empty() && message.back() == '\n') {
    message.remove_suffix(1);
  }
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    text += (begin == 0 ? "" : "\n    ") + printable(message.substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? "" : value;
}

void print_diagnostic(Console& console, const Diagnostic& diagnostic) {
  constexpr std::array<std::string_view, 3> kNames = {"note", "warning", "error"};
  constexpr std::array<Style, 3> kStyles = {Style::note, Style::warning, Style::error};
  const auto index = static_cast<std::size_t>(diagnostic.severity);
  std::string head(kNames[index]);
  if (!diagnostic.rule.empty()) {
    head += "[" + diagnostic.rule + "]";
  }
  console.err << styled(console, kStyles[index], head + ":") + " " +
                     message_lines(full_message(diagnostic)) + "\n";
}

bool is_shown(const Diagnostic& diagnostic, bool verbose) {
  return verbose || diagnostic.severity != Severity::note;
}

}  // namespace

Environment read_environment() {
  return {.no_color = !environment("NO_COLOR").empty(),
          .dumb_terminal = environment("TERM") == "dumb",
          .onnxruntime = environment("HALFSTEP_ORT"),
          .python = environment("HALFSTEP_PYTHON")};
}

void print_error(Console& console, std::string_view message, std::string_view help) {
  std::string text = styled(console, Style::error, "error:") + " " + message_lines(message) + "\n";
  if (!help.empty()) {
    text += styled(console, Style::help, "help:") + " " + message_lines(help) + "\n";
  }
  console.err << text << std::flush;
}

void print_diagnostics(Console& console, const Diagnostics& diagnostics, bool verbose, bool notes) {
  const auto shown = [&](const Diagnostic& diagnostic) {
    return notes || is_shown(diagnostic, verbose);
  };
  std::vector<std::string> rules;  // in the order in which they appear
  for (const Diagnostic& diagnostic : diagnostics) {
    if (shown(diagnostic) && std::ranges::count(rules, diagnostic.rule) == 0) {
      rules.push_back(diagnostic.rule);
    }
  }
  for (const std::string& rule : rules) {
    std::size_t count = 0;
    bool noted = true;
    for (const Diagnostic& diagnostic : diagnostics) {
      noted = noted && (diagnostic.rule != rule || diagnostic.severity == Severity::note);
      if (diagnostic.rule == rule && shown(diagnostic) && (count++ < kShownOfRule || verbose)) {
        print_diagnostic(console, diagnostic);
      }
    }
    if (count > kShownOfRule && !verbose) {
      console.err << styled(console, noted ? Style::note : Style::warning,
                            (noted ? "note[" : "warning[") + rule + "]:") +
                         " + " + std::to_string(count - kShownOfRule) + " more (-v shows all)\n";
    }
  }
  if (!rules.empty()) {
    console.err << styled(console, Style::help, "help:") + " 'halfstep rule " + rules.front() +
                       "' explains " +
                       (rules.size() == 1 ? "it" : "the first; likewise the others") + "\n";
  }
  console.err << std::flush;
}

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return 2;
    case ErrorKind::nothing_to_do:
      return 3;
    case ErrorKind::invalid_file:
    case ErrorKind::io:
      return 4;
    case ErrorKind::unsupported:
      return 5;
    case ErrorKind::interrupted:
      return 130;
    case ErrorKind::internal:
      break;
  }
  return 70;
}

std::string_view kind_name(ErrorKind kind) noexcept {
  constexpr std::array<std::string_view, 7> kNames = {
      "invalid_argument", "nothing_to_do", "invalid_file", "io",
      "unsupported",      "interrupted",   "internal"};
  return kNames[static_cast<std::size_t>(kind)];
}

Failure current_failure() {
  constexpr const char* kReport =
      "this is a defect of halfstep; please report it with the command and, if possible, the "
      "model (--debug shows where it arose)";
  try {
    throw;
  } catch (const CommandError& e) {
    return {.kind = e.kind(), .message = e.what(), .help = e.help()};
  } catch (const Error& e) {
    return {.kind = e.kind(),
            .message = e.what(),
            .help = e.kind() == ErrorKind::internal ? kReport : ""};
  } catch (const std::filesystem::filesystem_error& e) {
    return {.kind = ErrorKind::io,
            .message = e.path1().string() + ": " + e.code().message(),
            .help = ""};
  } catch (const std::bad_alloc&) {
    return {.message = "out of memory", .help = "fewer --threads need less memory"};
  } catch (const std::exception& e) {
    return {.message = std::string("internal: ") + e.what(), .help = kReport};
  } catch (...) {
    return {.message = "internal: an exception of an unknown type", .help = kReport};
  }
}

int report_failure(Console& console, const Failure& failure, const OutputOptions& options,
                   std::string_view command) {
  print_error(console, failure.message, failure.help);
  const int code = exit_code(failure.kind);
  if (options.json) {
    Json document = json_document(command);
    document["error"] = {{"kind", kind_name(failure.kind)},
                         {"message", failure.message},
                         {"help", failure.help},
                         {"exit_code", code}};
    console.out.str("");
    console.out << json_text(document);
  }
  return code;
}

}  // namespace halfstep::cli
