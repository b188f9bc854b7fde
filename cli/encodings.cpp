#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/command_error.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_document.h"
#include "cli/load.h"
#include "cli/table.h"
#include "cli/text.h"
#include "halfstep/encodings/schema/format.h"
#include "halfstep/encodings_files.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/output_check.h"
#include "halfstep/outputs/encodings_json.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/diagnostic_text.h"
#include "halfstep/support/file.h"
#include "halfstep/support/glob.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {
namespace {

namespace fs = std::filesystem;

/// What the actions share: the model, if one is given, and what was noticed.
class Job {
 public:
  Job(const EncodingsArguments& arguments, Console& console, const Environment& environment)
      : arguments_(arguments), console_(console) {
    const ModelForm& form = arguments.form;
    if (arguments.model.empty() &&
        !(form.signature.empty() && form.inputs.empty() && form.outputs.empty())) {
      throw UsageError("--signature, --inputs and --outputs are about a model, and there is none",
                       "add --model MODEL");
    }
    if (!arguments.model.empty()) {
      Diagnostics loading;  // of the model; here the files are looked at
      model_.emplace(load_for(arguments.model, arguments.form, environment, loading));
    }
  }

  [[nodiscard]] const EncodingsArguments& arguments() const { return arguments_; }
  [[nodiscard]] Console& console() { return console_; }
  [[nodiscard]] const Model& model() const { return model_.value(); }
  [[nodiscard]] Diagnostics& diagnostics() { return diagnostics_; }
  [[nodiscard]] EncodingsSource source() const {
    return {.model = model_ ? &*model_ : nullptr, .lenient = arguments_.lenient};
  }
  [[nodiscard]] const std::string& file(std::size_t i) const { return arguments_.files[i]; }

  [[nodiscard]] Json document() const {
    Json document = json_document("encodings " + arguments_.action);
    document["files"] = arguments_.files;
    document["model"] = arguments_.model.empty() ? Json() : Json(arguments_.model);
    return document;
  }

  /// Prints the document with --json.
  [[nodiscard]] bool print(Json document) {
    if (!arguments_.common.json) {
      return false;
    }
    document["diagnostics"] = to_json(diagnostics_);
    console_.out << json_text(document);
    return true;
  }

  void print_messages() {
    if (arguments_.common.quiet == 0) {
      print_diagnostics(console_, diagnostics_, arguments_.common.verbose);
    }
  }

 private:
  const EncodingsArguments& arguments_;
  Console& console_;
  std::optional<Model> model_{};
  Diagnostics diagnostics_{};
};

/// Writes the text to -o, or to standard output without one.
int deliver(Job& job, const std::string& text) {
  const EncodingsArguments& a = job.arguments();
  if (!a.output.empty()) {
    AtomicFile file(a.output);
    file.write(text);
    file.commit();
  }
  Json document = job.document();
  document["version"] = a.to;
  document["output"] = a.output;
  job.print_messages();
  if (!job.print(std::move(document))) {
    if (a.output.empty()) {
      job.console().out << text;
    } else if (a.common.quiet < 2) {
      job.console().out << "written  " << a.output << " (version " << a.to << ")\n";
    }
  }
  return 0;
}

void check_delivery(const Job& job) {
  const EncodingsArguments& a = job.arguments();
  if (a.common.json && a.output.empty()) {
    throw UsageError("--json needs the standard output for itself", "add -o FILE");
  }
  if (a.output == "-") {
    throw UsageError("-o - is not a file", "without -o the text goes to standard output");
  }
  std::vector<InputFile> inputs;
  for (const std::string& file : a.files) {
    inputs.push_back({.what = "encodings", .path = file});
  }
  if (!a.model.empty()) {
    for (const fs::path& file : job.model().files()) {
      inputs.push_back({.what = "the model or its data", .path = file});
    }
  }
  check_output("-o", a.output, inputs, a.force);
}

std::string lint_line(const Diagnostic& diagnostic) {
  const std::string severity = diagnostic.severity == Severity::error     ? "error"
                               : diagnostic.severity == Severity::warning ? "warning"
                                                                          : "note";
  return severity + "[" + diagnostic.rule + "]: " + printable(full_message(diagnostic)) + "\n";
}

int lint(Job& job) {
  const EncodingsArguments& a = job.arguments();
  const LintReport report = lint_encodings(job.file(0), job.source());
  job.diagnostics() = report.diagnostics;
  const std::size_t errors = report.count(Severity::error);
  const std::size_t warnings = report.count(Severity::warning);
  Json document = job.document();
  document["errors"] = errors;
  document["warnings"] = warnings;
  if (!job.print(std::move(document))) {
    for (const Diagnostic& diagnostic : report.diagnostics) {
      if (diagnostic.severity != Severity::note || a.common.verbose) {
        job.console().out << lint_line(diagnostic);
      }
    }
    job.console().out << printable(a.files[0]) << ": " << counted(errors, "error") << ", "
                      << counted(warnings, "warning") << "\n";
  }
  const bool fails =
      a.fail_on == "warning" ? errors + warnings > 0 : a.fail_on == "error" && errors > 0;
  return fails ? 1 : 0;
}

int diff(Job& job) {
  using Kind = EncodingDifference::Kind;
  const EncodingsArguments& a = job.arguments();
  const std::vector<EncodingDifference> differences =
      diff_encodings(job.file(0), job.file(1), job.source(),
                     {.tolerance = a.tolerance, .common = a.common_only}, job.diagnostics());
  Json list = Json::array();
  Table table({{.title = "tensor"}, {.title = "difference"}});
  for (const EncodingDifference& difference : differences) {
    const char* kind = difference.kind == Kind::only_in_first    ? "only_in_first"
                       : difference.kind == Kind::only_in_second ? "only_in_second"
                                                                 : "different";
    list.push_back({{"name", difference.name}, {"kind", kind}, {"text", difference.text}});
    table.add({difference.name, difference.kind == Kind::only_in_first    ? "only in " + job.file(0)
                                : difference.kind == Kind::only_in_second ? "only in " + job.file(1)
                                                                          : difference.text});
  }
  Json document = job.document();
  document["equal"] = differences.empty();
  document["differences"] = std::move(list);
  job.print_messages();
  if (!job.print(std::move(document)) && a.common.quiet < 2) {
    job.console().out << (differences.empty()
                              ? std::string("equal in meaning\n")
                              : table.text() + counted(differences.size(), "difference") + "\n");
  }
  return differences.empty() ? 0 : 1;
}

int merge(Job& job) {
  check_delivery(job);
  const std::vector<fs::path> files(job.arguments().files.begin(), job.arguments().files.end());
  const std::string text = merge_encodings(files, parse_encodings_version(job.arguments().to),
                                           job.source(), job.diagnostics());
  return deliver(job, text);
}

int from_model(Job& job) {
  check_delivery(job);
  const auto [folded, table] = extract_encodings(job.model(), job.diagnostics());
  const std::string text =
      write_encodings(table, GraphIndex(folded), parse_encodings_version(job.arguments().to));
  return deliver(job, text);
}

/// The shortest digits that give the same float32.
std::string digits_of(float value) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.begin(), digits.end(), value);
  return {digits.begin(), result.ptr};
}

std::string range_text(const std::vector<float>& values) {
  if (values.empty()) {
    return "-";
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const std::string first = digits_of(*least);
  return *least == *most ? first : first + " .. " + digits_of(*most);
}

std::string zero_points_text(const Encoding& encoding) {
  if (encoding.is_float()) {
    return "-";
  }
  if (encoding.zero_point.empty()) {
    return "0";
  }
  const auto [least, most] =
      std::minmax_element(encoding.zero_point.begin(), encoding.zero_point.end());
  const std::string half = encoding.half_step ? " - 0.5" : "";
  const std::string first = std::to_string(*least) + half;
  return *least == *most ? first : first + " .. " + std::to_string(*most) + half;
}

std::string granularity_word(const Encoding& encoding) {
  if (encoding.is_float()) {
    return "-";
  }
  if (const auto* channel = std::get_if<PerChannel>(&encoding.granularity)) {
    return counted(encoding.scale.size(), "channel") +
           (channel->axis ? ", axis " + std::to_string(*channel->axis) : "");
  }
  if (std::holds_alternative<PerTensor>(encoding.granularity)) {
    return "tensor";
  }
  const bool lpbq = std::holds_alternative<Lpbq>(encoding.granularity);
  return std::string(lpbq ? "LPBQ " : "blocks ") + to_text(encoding.shape);
}

int show(Job& job) {
  const EncodingsArguments& a = job.arguments();
  const EncodingsFile file = read_encodings(job.file(0), job.source(), job.diagnostics());
  Json list = Json::array();
  Table table({{.title = "tensor"},
               {.title = "type"},
               {.title = "granularity"},
               {.title = "scale"},
               {.title = "zero point"}});
  for (const std::string& entry : file.names) {
    if (!a.glob.empty() && !glob_match(a.glob, entry)) {
      continue;
    }
    Json json{{"name", entry}};
    if (const auto precision = file.precisions.find(entry); precision != file.precisions.end()) {
      json["dtype"] = name(precision->second);
      json["to_be_measured"] = true;
      table.add({entry, std::string(name(precision->second)), "to be measured", "-", "-"});
      list.push_back(std::move(json));
      continue;
    }
    const auto use = file.uses.find(entry);
    const Encoding* encoding =
        use == file.uses.end() ? file.table.find(entry) : file.table.find_use(use->second, "");
    if (encoding == nullptr) {
      continue;  // left out, and said so
    }
    json.update(to_json(*encoding));
    list.push_back(std::move(json));
    table.add({entry, std::string(name(encoding->dtype)), granularity_word(*encoding),
               range_text(encoding->scale), zero_points_text(*encoding)});
  }
  if (list.empty() && !a.glob.empty()) {
    throw UsageError("'" + a.glob + "' matches no entry of " + job.file(0),
                     "without it all entries are shown");
  }
  Json document = job.document();
  document["version"] = file.version;
  document["entries"] = std::move(list);
  job.print_messages();
  if (!job.print(std::move(document))) {
    job.console().out << "version " << (file.version.empty() ? "not given" : file.version) << ", "
                      << file.names.size() << (file.names.size() == 1 ? " entry\n" : " entries\n")
                      << table.text();
  }
  return 0;
}

}  // namespace

int run_encodings(const EncodingsArguments& arguments, Console& console,
                  const Environment& environment) {
  static const std::map<std::string, int (*)(Job&)> kActions = {{"lint", lint},
                                                                {"diff", diff},
                                                                {"convert", merge},
                                                                {"merge", merge},
                                                                {"from-model", from_model},
                                                                {"show", show}};
  Job job(arguments, console,
          environment);  // NOLINT(misc-const-correctness): the actions change it
  return kActions.at(arguments.action)(job);
}

}  // namespace halfstep::cli
