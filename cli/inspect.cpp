#include "halfstep/inspect.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inspect_dlc.h"
#include "cli/json_document.h"
#include "cli/load.h"
#include "cli/summary.h"
#include "cli/table.h"
#include "cli/text.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep::cli {
namespace {

constexpr std::size_t kRows = 15;

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    text += (&word == &words.front() ? "" : std::string(separator)) + word;
  }
  return text;
}

std::string opsets_text(const ModelReport& report) {
  std::vector<std::string> parts;
  for (const auto& [domain, version] : report.opsets) {
    parts.push_back(domain + " " + std::to_string(version));
  }
  return joined(parts, ", ");
}

std::string head_table(const ModelReport& report) {
  Table table({{}, {}});
  table.add({"model", report.name});
  table.add({"size", human_bytes(report.file_bytes)});
  table.add({"opset", opsets_text(report) + ", IR version " + std::to_string(report.ir_version)});
  if (!report.producer.empty()) {
    table.add({"producer", report.producer});
  }
  for (const auto& [key, value] : report.metadata) {
    table.add({"metadata", key + " = " + shortened(value, 80)});
  }
  std::string nodes = std::to_string(report.nodes);
  nodes += report.subgraphs > 0
               ? ", " + counted(static_cast<std::uint64_t>(report.subgraphs), "subgraph")
               : "";
  table.add({"nodes", nodes});
  if (!report.functions.empty()) {
    table.add({"functions", joined(report.functions, ", ")});
  }
  if (!report.custom_domains.empty()) {
    table.add({"domains", joined(report.custom_domains, ", ") + " (not part of ONNX)"});
  }
  return table.text();
}

std::string ports_table(const ModelReport& report) {
  Table table({{}, {.title = "name"}, {.title = "type"}, {.title = "shape"}});
  const auto add = [&](const char* what, const std::vector<PortReport>& ports) {
    for (const PortReport& port : ports) {
      table.add({what, port.name, port.type,
                 port.has_shape ? "[" + joined(port.shape, ", ") + "]" : "unknown"});
    }
  };
  add("input", report.inputs);
  add("output", report.outputs);
  return "\n" + table.text();
}

std::string ops_table(const ModelReport& report, bool verbose) {
  std::vector<std::pair<std::string, int>> ops(report.ops.begin(), report.ops.end());
  std::ranges::stable_sort(ops, std::greater{}, &std::pair<std::string, int>::second);
  Table table({{.title = "op"}, {.title = "nodes", .align = Align::right}});
  const std::size_t rows = verbose || ops.size() <= kRows + 1 ? ops.size() : kRows;
  for (std::size_t i = 0; i < rows; ++i) {
    table.add({ops[i].first, std::to_string(ops[i].second)});
  }
  std::string text = "\n" + table.text();
  if (rows < ops.size()) {
    text += "+ " + std::to_string(ops.size() - rows) + " more ops (-v shows all)\n";
  }
  return text;
}

std::string types_table(const ModelReport& report) {
  Table table({{.title = "type"},
               {.title = "weights", .align = Align::right},
               {.title = "values", .align = Align::right},
               {.title = "bytes", .align = Align::right},
               {.title = "activations", .align = Align::right}});
  std::map<std::string, int> activations = report.activations;
  const auto add = [&](const std::string& type, const TypeReport& weights, int tensors) {
    table.add({type, std::to_string(weights.tensors), std::to_string(weights.values),
               human_bytes(weights.bytes), std::to_string(tensors)});
  };
  int all_activations = 0;
  for (const auto& [type, count] : activations) {
    all_activations += count;
  }
  for (const auto& [type, weights] : report.weights) {
    add(type, weights, activations[type]);
    activations.erase(type);
  }
  for (const auto& [type, count] : activations) {
    add(type, {}, count);
  }
  add("all", report.weights_total, all_activations);
  return "\n" + table.text();
}

std::string weights_table(const ModelReport& report, bool verbose) {
  constexpr std::size_t kShown = 5;
  Table table({{.title = "biggest weights"},
               {.title = "type"},
               {.title = "shape"},
               {.title = "bytes", .align = Align::right}});
  const std::size_t rows =
      verbose ? report.biggest.size() : std::min(report.biggest.size(), kShown);
  for (std::size_t i = 0; i < rows; ++i) {
    const WeightReport& weight = report.biggest[i];
    table.add({weight.name, weight.type, to_text(weight.shape), human_bytes(weight.bytes)});
  }
  return table.empty() ? "" : "\n" + table.text();
}

std::string encodings_table(const ModelReport& report) {
  Table table({{.title = "existing encodings"},
               {.title = "type"},
               {.title = "granularity"},
               {.title = "tensors", .align = Align::right}});
  for (const EncodingReport& row : report.encodings) {
    table.add({row.of, row.type, row.granularity, std::to_string(row.tensors)});
  }
  return table.empty() ? "\nno existing encodings (no QuantizeLinear, no DequantizeLinear)\n"
                       : "\n" + table.text();
}

/// How many there are of each kind; they follow as messages.
std::string traps_table(const ModelReport& report) {
  Table table({{}, {}});
  const std::string warnings = rule_counts(report.diagnostics, false);
  const std::string notes = rule_counts(report.diagnostics, true);
  table.add({"warnings", warnings.empty() ? "none" : warnings});
  if (!notes.empty()) {
    table.add({"notes", notes});
  }
  return "\n" + table.text();
}

}  // namespace

int run_inspect(const InspectArguments& arguments, Console& console,
                const Environment& environment) {
  if (std::filesystem::path(arguments.model).extension() == ".dlc") {
    return run_inspect_dlc(arguments, console);
  }
  Diagnostics loading;
  const Model model = load_for(arguments.model, arguments.form, environment, loading);
  const ModelReport report = inspect(model, std::move(loading));
  if (arguments.common.json) {
    Json document = json_document("inspect");
    document["model"] = to_json(report);
    console.out << json_text(document);
    return 0;
  }
  const bool verbose = arguments.common.verbose;
  console.out << head_table(report) << ports_table(report) << ops_table(report, verbose)
              << types_table(report) << weights_table(report, verbose) << encodings_table(report)
              << traps_table(report);
  print_diagnostics(console, report.diagnostics, verbose, true);
  return 0;
}

}  // namespace halfstep::cli
