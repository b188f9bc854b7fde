#include "cli/inspect_dlc.h"

#include <cstddef>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/console.h"
#include "cli/json_document.h"
#include "cli/table.h"
#include "cli/text.h"
#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/inspect_dlc.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {
namespace {

constexpr std::size_t kRows = 15;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

std::string head_table(const InspectArguments& arguments, const DlcReport& report) {
  const auto& contents = report.contents;
  Table table({{}, {}});
  table.add({"file", arguments.model});
  table.add({"size", human_bytes(report.file_bytes)});
  table.add({"container", "DLC version " + std::to_string(contents.major) + "." +
                              std::to_string(contents.minor)});
  if (!contents.tool.empty()) {
    table.add({"written by", contents.tool + " " + contents.tool_version});
  }
  if (contents.metadata.is_object()) {
    for (const auto& [key, value] : contents.metadata.items()) {
      table.add({"metadata", key + " = " + shortened(value.dump(), 80)});
    }
  }
  return table.text();
}

/// Rows beyond the first ones, in words.
std::string rest_text(std::size_t all, std::size_t shown, const char* what) {
  return all > shown ? "+ " + std::to_string(all - shown) + " more " + what + " (-v shows all)\n"
                     : "";
}

std::size_t rows_of(std::size_t all, bool verbose) {
  return verbose || all <= kRows + 1 ? all : kRows;
}

std::string ops_table(const qnn::Graph& graph, const DlcReport& report, bool verbose) {
  Table table({{.title = "op"},
               {.title = "name"},
               {.title = "inputs"},
               {.title = "outputs"},
               {.title = "params"},
               {.title = "super group"}});
  const std::size_t rows = rows_of(graph.ops.size(), verbose);
  for (std::size_t i = 0; i < rows; ++i) {
    const qnn::Op& op = graph.ops[i];
    std::vector<std::string> params;
    params.reserve(op.params.size());
    for (const qnn::Param& param : op.params) {
      params.push_back(param.name + "=" + param_text(param));
    }
    const auto group = report.groups.find(op.name);
    table.add({op.type, op.name, joined(op.inputs), joined(op.outputs), joined(params),
               group == report.groups.end() ? "" : std::to_string(group->second)});
  }
  return "\n" + table.text() + rest_text(graph.ops.size(), rows, "ops");
}

std::string tensors_table(const qnn::Graph& graph, bool verbose) {
  Table table({{.title = "tensor"},
               {.title = "kind"},
               {.title = "type"},
               {.title = "shape"},
               {.title = "encoding"}});
  const std::size_t rows = rows_of(graph.tensors.size(), verbose);
  for (std::size_t i = 0; i < rows; ++i) {
    const qnn::Tensor& tensor = graph.tensors[i];
    std::vector<std::string> extents;
    extents.reserve(tensor.dims.size());
    for (const std::uint32_t extent : tensor.dims) {
      extents.push_back(std::to_string(extent));
    }
    table.add({tensor.name, std::string(qnn::name_of(tensor.kind)),
               std::string(qnn::name_of(tensor.type)), "[" + joined(extents) + "]",
               encoding_text(tensor.quantization)});
  }
  return "\n" + table.text() + rest_text(graph.tensors.size(), rows, "tensors");
}

}  // namespace

int run_inspect_dlc(const InspectArguments& arguments, Console& console) {
  const DlcReport report = inspect_dlc(arguments.model);
  if (arguments.common.json) {
    Json document = json_document("inspect");
    document["dlc"] = to_json(report);
    console.out << json_text(document);
    return 0;
  }
  const bool verbose = arguments.common.verbose;
  console.out << head_table(arguments, report);
  for (const qnn::Graph& graph : report.contents.graphs) {
    console.out << "\ngraph " << graph.name << ": " << counted(graph.ops.size(), "op") << ", "
                << counted(graph.tensors.size(), "tensor") << "\n"
                << ops_table(graph, report, verbose) << tensors_table(graph, verbose);
  }
  return 0;
}

}  // namespace halfstep::cli
