#include "halfstep/verify.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_document.h"
#include "cli/load.h"
#include "cli/progress_line.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "cli/text.h"
#include "halfstep/calibration/samples.h"
#include "halfstep/engines/engine.h"
#include "halfstep/engines/lazy_engine.h"
#include "halfstep/frontends/load.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep::cli {
namespace {

constexpr std::size_t kRows = 40;
constexpr std::size_t kNameWidth = 44;

VerifyRequest request_of(const VerifyArguments& a) {
  VerifyRequest request{.backend = a.on.empty() ? "htp" : a.on,
                        .arch = a.arch,
                        .dumps = a.dumps,
                        .tensors = a.tensors,
                        .samples = static_cast<std::size_t>(a.samples),
                        .arithmetic = a.arithmetic,
                        .qnn_libraries = a.qnn_libs,
                        .threads = a.threads > 0 ? a.threads : 1};
  if (!a.simulation.empty()) {
    request.dlc = a.model;
  }
  if (!a.fail_on.empty()) {
    request.bound = parse_agreement_bound(a.fail_on);
  }
  return request;
}

ProgressStyle progress_style(const OutputOptions& options, const Console& console) {
  if (!options.progress || options.quiet > 0) {
    return ProgressStyle::none;
  }
  return console.terminal ? ProgressStyle::bar : ProgressStyle::log;
}

VerifyResult work(const VerifyArguments& a, const Environment& environment, Progress& progress) {
  const VerifyRequest request = request_of(a);
  Diagnostics diagnostics;
  progress.begin("load", 0);
  const std::string& subject = a.simulation.empty() ? a.model : a.simulation;
  // Of a Q/DQ model beside its source, the source is meant by --signature and the like.
  const bool source = !a.float_model.empty() && needs_python(a.float_model);
  const bool both = !source || needs_python(subject);
  const auto load = [&](const std::string& path, bool meant) {
    const ModelForm form = meant ? a.form : ModelForm{};
    return load_model(path, load_options(form, environment, &progress), diagnostics);
  };
  const Model simulation = load(subject, both);
  std::optional<Model> float_model;
  if (!a.float_model.empty()) {
    float_model.emplace(load(a.float_model, source));
  }
  const std::unique_ptr<SampleSource> samples =
      open_samples(a.data, sample_inputs(simulation), {.cast_inputs = a.cast_inputs});
  LazyEngine engine([&] {
    return make_onnxruntime_engine(a.onnxruntime.empty() ? environment.onnxruntime : a.onnxruntime);
  });
  progress.end();
  VerifyResult result = verify(simulation, float_model ? &*float_model : nullptr, *samples, engine,
                               request, progress);
  result.diagnostics.insert(result.diagnostics.begin(), diagnostics.begin(), diagnostics.end());
  return result;
}

std::string decibels(const ErrorPower& power) {
  return power.values == 0 ? "" : decibel(power.sqnr_db());
}

/// "98.7 %"; never 100 % where a code differs.
std::string percent(const Agreement& agreement) {
  const std::optional<double> share = agreement.equal_share();
  if (!share) {
    return "";
  }
  return agreement.equal < agreement.codes ? fixed(std::min(100 * *share, 99.99), 2) + " %"
                                           : "100 %";
}

std::string head(const VerifyArguments& a, const VerifyResult& result) {
  Table table({{}, {}});
  table.add({"model", a.model});
  table.add({"target", result.target + ", " +
                           (result.source == "dumps" ? "dumps in " + a.dumps : "emulator")});
  table.add({"simulation", (a.simulation.empty() ? a.model : a.simulation) + ", " + result.engine +
                               " without optimizations"});
  table.add({"arithmetic", result.arithmetic == "target"
                               ? "the target's, of " + std::to_string(result.followed) +
                                     " operators; Q/DQ of the others"
                               : "Q/DQ"});
  if (!a.float_model.empty()) {
    table.add({"float", a.float_model});
  }
  table.add({"samples", std::to_string(result.samples)});
  return table.text();
}

std::string rows_text(const VerifyResult& result, bool verbose, bool floats) {
  std::vector<Column> columns = {{.title = "tensor"},
                                 {.title = "op"},
                                 {.title = "type"},
                                 {.title = "target/simulation", .align = Align::right}};
  if (floats) {
    columns.push_back({.title = "target/float", .align = Align::right});
    columns.push_back({.title = "simulation/float", .align = Align::right});
    columns.push_back({.title = "margin", .align = Align::right});
  }
  columns.push_back({.title = "steps", .align = Align::right});
  columns.push_back({.title = "equal", .align = Align::right});
  columns.push_back({});
  Table table(columns);
  const std::size_t all = result.rows.size();
  const std::size_t rows = verbose || all <= kRows + 1 ? all : kRows;
  for (std::size_t i = 0; i < rows; ++i) {
    const VerifyRow& row = result.rows[i];
    const bool stepped = row.target_simulation.codes > 0;
    std::vector<std::string> cells = {shortened(row.tensor, kNameWidth), row.op_type, row.type,
                                      decibels(row.target_simulation.power)};
    if (floats) {
      const std::optional<double> margin = row.margin_db();
      cells.push_back(decibels(row.target_float));
      cells.push_back(decibels(row.simulation_float));
      cells.push_back(margin ? fixed(*margin, 1) + " dB" : "");
    }
    cells.push_back(stepped ? std::to_string(row.target_simulation.max_steps) : "");
    cells.push_back(percent(row.target_simulation));
    cells.emplace_back(row.departs ? "departs" : "");
    table.add(std::move(cells));
  }
  std::string text = "\n" + table.text();
  if (rows < all) {
    text += "+ " + std::to_string(all - rows) + " more tensors (-v shows all)\n";
  }
  return text;
}

std::string verdict(const VerifyResult& result) {
  if (result.first < 0) {
    return "\nno tensor departs (" + result.bound.text() + ")\n";
  }
  const VerifyRow& row = result.rows[static_cast<std::size_t>(result.first)];
  return "\nfirst tensor that departs (" + result.bound.text() + "): '" + printable(row.tensor) +
         "', written by " + row.op_type + " '" + printable(row.op_name) + "', " + row.type + ": " +
         result.cause + "\n";
}

}  // namespace

int run_verify(const VerifyArguments& arguments, Console& console, const Environment& environment) {
  ProgressLine progress(progress_style(arguments.common, console),
                        [&](std::string_view text) { console.err << text << std::flush; });
  const SignalGuard signals(progress);
  const VerifyResult result = work(arguments, environment, progress);
  progress.close();
  if (arguments.common.quiet == 0) {
    print_diagnostics(console, result.diagnostics, arguments.common.verbose, true);
  }
  if (arguments.common.json) {
    Json document = json_document("verify");
    document["model"] = arguments.model;
    document["verify"] = to_json(result);
    document["failed"] = result.failed;
    document["diagnostics"] = to_json(result.diagnostics);
    console.out << json_text(document);
  } else if (arguments.common.quiet < 2) {
    console.out << head(arguments, result)
                << rows_text(result, arguments.common.verbose, !arguments.float_model.empty())
                << verdict(result);
  }
  return result.failed ? 1 : 0;
}

}  // namespace halfstep::cli
