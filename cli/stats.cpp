// `halfstep stats merge` and `halfstep stats show`.
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command_error.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_document.h"
#include "cli/table.h"
#include "cli/text.h"
#include "halfstep/calibration/stats_file.h"
#include "halfstep/calibration/stats_json.h"
#include "halfstep/output_check.h"

namespace halfstep::cli {
namespace {

constexpr std::size_t kRows = 20;

std::string method_text(const StatisticsSource& source) {
  return (source.method.empty() ? "several methods" : source.method) +
         (source.percentile ? " " + Json(*source.percentile).dump() : "");
}

std::string head_text(const StatisticsFile& file) {
  return counted(file.samples, "sample") + ", " + counted(file.tensors.size(), "tensor") +
         ", method " + method_text(file.source) + ", " + file.source.engine + "\ngraph " +
         file.source.graph + " (" + file.source.model + ")\n";
}

Json tensor_list(const StatisticsFile& file) {
  Json document = internal::statistics_json(file);
  for (Json& tensor : document["tensors"]) {
    tensor["expected_movement"] =
        expected_movement(file.tensors.at(tensor["name"].get<std::string>()));
  }
  return document;
}

int show(const StatsArguments& a, Console& console) {
  const StatisticsFile file = read_statistics(a.files[0]);
  if (a.common.json) {
    Json document = json_document("stats show");
    document["statistics"] = tensor_list(file);
    console.out << json_text(document);
    return 0;
  }
  Table table({{.title = "tensor"},
               {.title = "min", .align = Align::right},
               {.title = "max", .align = Align::right},
               {.title = "values", .align = Align::right},
               {.title = "left out", .align = Align::right},
               {.title = "bins", .align = Align::right},
               {.title = "last tenth moves", .align = Align::right}});
  std::size_t rows = 0;
  for (const auto& [name, s] : file.tensors) {
    if (!a.common.verbose && rows == kRows) {
      break;
    }
    ++rows;
    const auto number = [&s](float value) {
      return s.has_finite() ? significant(static_cast<double>(value)) : "-";
    };
    table.add({name, number(s.min), number(s.max), std::to_string(s.values),
               std::to_string(s.nan_count + s.infinity_count + s.mask_count),
               s.histogram ? std::to_string(s.histogram->counts().size()) : "-",
               fixed(100 * expected_movement(s), 2) + " %"});
  }
  console.out << head_text(file) << "\n" << table.text();
  if (rows < file.tensors.size()) {
    console.out << "  + " << file.tensors.size() - rows << " more (-v shows all)\n";
  }
  return 0;
}

int merge(const StatsArguments& a, Console& console) {
  std::vector<InputFile> inputs;
  inputs.reserve(a.files.size());
  for (const std::string& file : a.files) {
    inputs.push_back({.what = "statistics to merge", .path = file});
  }
  check_output("-o", a.output, inputs, a.force);
  std::vector<StatisticsFile> parts;
  parts.reserve(a.files.size());
  std::map<std::string, std::string> seen;  // bytes, file
  for (const std::string& file : a.files) {
    parts.push_back(read_statistics(file));
    const auto [first, fresh] = seen.emplace(to_bytes(parts.back()), file);
    if (!fresh) {
      throw UsageError(file + " holds the same statistics as " + first->second,
                       "give every part once: samples count each time");
    }
  }
  const StatisticsFile merged = merge_statistics(parts, a.files);
  write_statistics(a.output, merged);
  if (a.common.json) {
    Json document = json_document("stats merge");
    document["output"] = a.output;
    document["samples"] = merged.samples;
    document["tensors"] = merged.tensors.size();
    console.out << json_text(document);
  } else if (a.common.quiet < 2) {
    console.out << head_text(merged) << "written: " << a.output << "\n";
  }
  return 0;
}

}  // namespace

int run_stats(const StatsArguments& arguments, Console& console) {
  return arguments.action == "merge" ? merge(arguments, console) : show(arguments, console);
}

}  // namespace halfstep::cli
