#include "halfstep/frontends/python_frontend.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "halfstep/support/child_process.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/support/json.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<std::string_view, ErrorKind>, 6> kKinds = {{
    {"invalid_argument", ErrorKind::invalid_argument},
    {"invalid_file", ErrorKind::invalid_file},
    {"io", ErrorKind::io},
    {"unsupported", ErrorKind::unsupported},
    {"missing", ErrorKind::unsupported},  // a package
    {"internal", ErrorKind::internal},
}};

ErrorKind kind_named(const std::string& name) {
  for (const auto& [text, kind] : kKinds) {
    if (text == name) {
      return kind;
    }
  }
  return ErrorKind::internal;
}

std::string install_command(const PythonFrontend& frontend) {
  return "pip install 'halfstep[" + frontend.extra + "]'";
}

Severity severity_named(const std::string& name) {
  return name == "error" ? Severity::error : name == "warning" ? Severity::warning : Severity::note;
}

[[noreturn]] void fail_reported(const PythonFrontend& frontend, const std::string& path,
                                const Json& error) {
  const auto kind = error.at("kind").get<std::string>();
  const auto message = error.at("message").get<std::string>();
  if (kind == "missing") {
    throw Error(ErrorKind::unsupported, frontend.label +
                                            " needs packages that this Python lacks: " + message +
                                            "; " + install_command(frontend))
        .within(path);
  }
  throw Error(kind_named(kind), message).within(path);
}

/// The child ended without a report.
[[noreturn]] void fail_ended(const PythonFrontend& frontend, const std::string& python,
                             ChildProcess& child) {
  const std::string last = child.last_lines(1);
  const bool absent = last.find("No module named 'halfstep") != std::string::npos ||
                      last.find("No module named halfstep") != std::string::npos;
  throw Error(ErrorKind::unsupported,
              frontend.label + " (" + python + " -m halfstep._frontend) " + child.ending() +
                  (last.empty() ? "" : ": " + last) +
                  (absent ? "; " + install_command(frontend) + " for this Python"
                          : "; if memory ran out, free some and try again"));
}

Json read_report(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error) ? parse_json(read_text(file), "report of a front end") : Json();
}

/// One file is taken over into memory; weights beside it (above 2 GB) stay mapped while they live.
Model read_written(const fs::path& output, const std::string& name) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(output.parent_path())) {
    files += entry.path().extension() != ".json" ? 1 : 0;
  }
  return files > 1 ? Model::load(output) : Model::from_bytes(MappedFile(output).bytes(), name);
}

}  // namespace

Model load_with_python(const PythonFrontend& frontend, const fs::path& path,
                       const LoadOptions& options, Diagnostics& diagnostics) {
  const std::string python =
      find_python(options.python, frontend.label + " is run", install_command(frontend));
  const TemporaryDirectory folder;
  const fs::path output = folder.path() / "model.onnx";
  const fs::path report_file = folder.path() / "report.json";
  const Json request = {{"kind", frontend.kind},          {"model", path.string()},
                        {"output", output.string()},      {"report", report_file.string()},
                        {"signature", options.signature}, {"inputs", options.inputs},
                        {"outputs", options.outputs},     {"input_extents", options.extents}};
  // -P: a halfstep or numpy in the current directory is not the installed one.
  const std::string text = request.dump();
  ChildProcess child({.arguments = {python, "-P", "-m", "halfstep._frontend", text},
                      .what = frontend.label,
                      .environment = {"PYTHONHASHSEED=0"}});  // sets in the same order
  SilentProgress silent;
  if (!child.wait(options.limit, options.progress != nullptr ? *options.progress : silent)) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.limit).count();
    throw Error(ErrorKind::unsupported, frontend.label + " took longer than " +
                                            std::to_string(seconds) + " s and was stopped")
        .within(path.string());
  }
  const Json report = read_report(report_file);
  if (report.contains("error")) {
    fail_reported(frontend, path.string(), report.at("error"));
  }
  if (child.exit_code() != 0 || report.is_null()) {
    fail_ended(frontend, python, child);
  }
  for (const Json& entry : report.at("diagnostics")) {
    diagnostics.push_back({.severity = severity_named(entry.at("severity").get<std::string>()),
                           .rule = entry.at("rule").get<std::string>(),
                           .subject = entry.at("subject").get<std::string>(),
                           .message = entry.at("message").get<std::string>()});
  }
  return read_written(output, path.string());
}

}  // namespace halfstep
