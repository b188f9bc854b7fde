#include "cli/summary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/table.h"
#include "cli/text.h"
#include "halfstep/pipeline.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep::cli {
namespace {

constexpr std::size_t kTypeRows = 12;
constexpr std::size_t kReasons = 5;
constexpr std::size_t kOutputs = 4;
constexpr std::size_t kEntries = 5;
constexpr std::size_t kNameWidth = 44;

std::size_t shown(std::size_t rows, std::size_t most, bool verbose) {
  // a line that says "1 more" is as long as the row itself
  return verbose || rows <= most + 1 ? rows : most;
}

std::string more(std::size_t rows, std::size_t shown_rows) {
  return rows > shown_rows ? "  + " + std::to_string(rows - shown_rows) + " more (-v shows all)\n"
                           : "";
}

std::string size_change(std::uint64_t before, std::uint64_t after) {
  std::string text = human_bytes(before) + " -> " + human_bytes(after);
  if (before > 0 && after > 0) {
    const double ratio = static_cast<double>(before) / static_cast<double>(after);
    text += before == after ? ""
            : ratio >= 1    ? " (" + fixed(ratio, 2) + "x smaller)"
                            : " (" + fixed(1 / ratio, 2) + "x larger)";
  }
  return text;
}

std::string run_text(const QuantizeSummary& s) {
  std::string text = "recipe " + s.recipe + ", target " + s.target;
  text += s.method.empty() || s.method == "minmax" ? "" : ", method " + s.method;
  text += s.samples > 0 ? ", " + counted(s.samples, "sample") : ", no samples";
  text += s.engine.empty() ? "" : ", " + s.engine;
  return text;
}

std::string time_text(const QuantizeSummary& s) {
  double total = 0;
  std::vector<std::pair<double, std::string>> phases;
  for (const auto& [name, seconds] : s.seconds) {
    total += seconds;
    phases.emplace_back(seconds, name);
  }
  std::ranges::stable_sort(phases, std::greater{}, &std::pair<double, std::string>::first);
  std::string list;
  for (const auto& [seconds, name] : phases) {
    if (seconds >= 0.01 * total && seconds > 0) {
      list += (list.empty() ? "" : ", ") + name + " " + human_seconds(seconds);
    }
  }
  std::string text = human_seconds(total) + (list.empty() ? "" : " (" + list + ")");
  text += s.peak_memory > 0 ? ", peak memory " + human_bytes(s.peak_memory) : "";
  return text;
}

std::string types_table(const QuantizeSummary& s, bool verbose) {
  Table table({{.title = "op type"},
               {.title = "nodes", .align = Align::right},
               {.title = "activation"},
               {.title = "weight"},
               {.title = "bias"}});
  const std::size_t rows = shown(s.types.size(), kTypeRows, verbose);
  for (std::size_t i = 0; i < rows; ++i) {
    const TypeRow& row = s.types[i];
    table.add({row.op_type, std::to_string(row.nodes), row.activation, row.weight, row.bias});
  }
  return "\n" + table.text() + more(s.types.size(), rows);
}

std::string float_table(const QuantizeSummary& s, bool verbose) {
  Table table({{.title = "stayed float because", .align = Align::left},
               {.title = "count", .align = Align::right},
               {.title = "such as"}});
  const std::size_t rows = shown(s.stayed_float.size(), kReasons, verbose);
  for (std::size_t i = 0; i < rows; ++i) {
    const FloatReason& reason = s.stayed_float[i];
    std::string examples;
    for (const std::string& name : reason.examples) {
      if (!verbose && !examples.empty() &&
          display_width(examples) + display_width(name) > kNameWidth) {
        break;
      }
      examples += (examples.empty() ? "" : ", ") + name;
    }
    table.add({reason.reason, std::to_string(reason.count),
               verbose ? examples : shortened(examples, 2 * kNameWidth)});
  }
  return "\n" + table.text() + more(s.stayed_float.size(), rows);
}

/// "12 entries: 10 applied, 2 unused", and the entries that did not go in as they are.
std::string overrides_text(const EntryAccount& account, bool verbose) {
  using Status = EntryOutcome::Status;
  std::vector<const EntryOutcome*> told;
  for (const EntryOutcome& entry : account.entries) {
    if (verbose || entry.status != Status::applied) {
      told.push_back(&entry);
    }
  }
  Table table({{.title = "entry of " + account.file}, {}, {.title = "why"}});
  const std::size_t rows = shown(told.size(), kEntries, verbose);
  for (std::size_t i = 0; i < rows; ++i) {
    table.add({verbose ? told[i]->name : shortened(told[i]->name, kNameWidth),
               std::string(name(told[i]->status)), told[i]->reason});
  }
  return table.empty() ? "" : "\n" + table.text() + more(told.size(), rows);
}

std::string overrides_head(const EntryAccount& account) {
  using Status = EntryOutcome::Status;
  std::string text = std::to_string(account.entries.size()) +
                     (account.entries.size() == 1 ? " entry: " : " entries: ");
  text += std::to_string(account.count(Status::applied)) + " applied";
  for (const Status status : {Status::adapted, Status::unused}) {
    if (account.count(status) > 0) {
      text += ", " + std::to_string(account.count(status)) + " " + std::string(name(status));
    }
  }
  return text + " (" + account.file + ")";
}

/// "fold-batch-norm 3, fuse-pattern 2": changes of the graph, by rule.
std::string prepared_text(const QuantizeSummary& s) {
  std::string text;
  for (const auto& [rule, count] : s.prepared) {
    text +=
        (text.empty() ? "" : ", ") + rule.substr(rule.find('/') + 1) + " " + std::to_string(count);
  }
  return text;
}

/// "htp_v75: 12 float by default, 3 propagated, 1 adapted, 2 converts, 5 super groups"
std::string adapted_text(const QuantizeSummary& s) {
  const AdaptTotals& totals = *s.adapted;
  return s.target + ": " + std::to_string(totals.default_float) + " float by default, " +
         std::to_string(totals.propagated) + " propagated, " + std::to_string(totals.adapted) +
         " adapted, " + counted(static_cast<std::uint64_t>(totals.converts), "convert") + ", " +
         counted(static_cast<std::uint64_t>(totals.super_groups), "super group");
}

std::string validated_table(const ValidatedGraph& validated) {
  Table table({{.title = "operator"}, {.title = "accepted", .align = Align::right}});
  for (const auto& [type, count] : validated.accepted) {
    table.add({type, std::to_string(count)});
  }
  return "\n" + table.text();
}

std::string error_tables(const QuantizeSummary& s, bool verbose) {
  Table outputs({{.title = "output"}, {.title = "SQNR", .align = Align::right}});
  const std::size_t rows = shown(s.outputs.size(), kOutputs, verbose);
  for (std::size_t i = 0; i < rows; ++i) {
    outputs.add({shortened(s.outputs[i].output, kNameWidth), decibel(s.outputs[i].sqnr_db)});
  }
  std::string text = "\n" + outputs.text() + more(s.outputs.size(), rows);
  if (!s.worst.empty()) {
    Table worst({{.title = "worst tensors"},
                 {.title = "op"},
                 {.title = "SQNR", .align = Align::right},
                 {.title = "likely cause"}});
    for (const TensorError& error : s.worst) {
      worst.add({verbose ? error.tensor : shortened(error.tensor, kNameWidth), error.op_type,
                 decibel(error.sqnr_db), error.hint});
    }
    text += "\n" + worst.text();
  }
  return text;
}

/// Ranges that moved more than this in the last tenth of the samples have not settled.
constexpr double kSettled = 0.01;
constexpr std::size_t kMovements = 5;

std::string settled_text(const QuantizeSummary& s) {
  const auto moving = static_cast<std::uint64_t>(std::ranges::count_if(
      s.movement, [](const TensorMovement& movement) { return movement.share > kSettled; }));
  const std::string when = s.movement.front().expected ? "a tenth of the samples would move "
                                                       : "the last tenth of the samples moved ";
  if (moving == 0) {
    return "yes: " + when + "no range by more than 1 %";
  }
  return "no: " + when + std::to_string(moving) + " of " + counted(s.movement.size(), "range") +
         " by more than 1 %, at most " + fixed(100 * s.movement.front().share, 1) + " % (" +
         printable(shortened(s.movement.front().tensor, kNameWidth)) + "); more samples would help";
}

std::string movement_table(const QuantizeSummary& s, bool verbose) {
  Table table({{.title = "range of"}, {.title = "moved last", .align = Align::right}});
  const std::size_t rows = shown(s.movement.size(), kMovements, verbose);
  for (std::size_t i = 0; i < rows; ++i) {
    const TensorMovement& movement = s.movement[i];
    table.add({verbose ? movement.tensor : shortened(movement.tensor, kNameWidth),
               fixed(100 * movement.share, 2) + " %"});
  }
  return "\n" + table.text() + more(s.movement.size(), rows);
}

void add_foot(Table& foot, const QuantizeSummary& s, const Diagnostics& diagnostics,
              const SummaryContext& context) {
  const std::string warnings = rule_counts(diagnostics, false);
  const std::string notes = rule_counts(diagnostics, true);
  foot.add({"warnings", warnings.empty() ? "none" : warnings});
  if (!notes.empty()) {
    foot.add({"notes", notes + (context.verbose ? "" : " (-v shows them)")});
  }
  foot.add({"time", time_text(s)});
  if (context.dry_run) {
    foot.add({"written", "nothing (dry run)" +
                             std::string(s.placeholders ? "; ranges are placeholders" : "")});
  }
  for (const std::string& file : context.written) {
    foot.add({&file == &context.written.front() ? "written" : "", file});
  }
}

}  // namespace

std::string rule_counts(const Diagnostics& diagnostics, bool notes) {
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t all = 0;
  for (const Diagnostic& diagnostic : diagnostics) {
    if ((diagnostic.severity == Severity::note) == notes) {
      ++counts[diagnostic.rule];
      ++all;
    }
  }
  std::string text;
  for (const auto& [rule, count] : counts) {
    text += (text.empty() ? "" : ", ") + rule + " " + std::to_string(count);
  }
  return all == 0 ? "" : std::to_string(all) + ": " + text;
}

std::string summary_text(const QuantizeSummary& s, const Diagnostics& diagnostics,
                         const SummaryContext& context) {
  Table head({{}, {}});
  head.add({"model", s.model});
  head.add({"run", run_text(s)});
  head.add({"size", size_change(s.size_before, s.size_after)});
  head.add({"weights", size_change(s.weights_before, s.weights_after)});
  head.add(
      {"quantized", counted(static_cast<std::uint64_t>(s.quantized_activations), "activation") +
                        ", " + counted(static_cast<std::uint64_t>(s.quantized_weights), "weight") +
                        ", " + std::to_string(s.quantized_biases) +
                        (s.quantized_biases == 1 ? " bias" : " biases")});
  if (s.model_encodings > 0) {
    head.add({"from the model", counted(s.model_encodings, "encoding") + " taken over"});
  }
  if (s.overrides) {
    head.add({"encodings", overrides_head(*s.overrides)});
  }
  if (!s.prepared.empty()) {
    head.add({"prepared", prepared_text(s)});
  }
  if (s.adapted) {
    head.add({"target", adapted_text(s)});
  }
  if (!s.movement.empty()) {
    head.add({"settled", settled_text(s)});
  }
  if (s.validated) {
    head.add({"validated", std::to_string(s.validated->count()) + " operators, all accepted"});
  }
  if (!s.remark.empty()) {
    head.add({"chosen", s.remark});
  }
  std::string text = head.text();
  text += s.validated ? validated_table(*s.validated) : "";
  text += s.overrides ? overrides_text(*s.overrides, context.verbose) : "";
  text += s.types.empty() ? "" : types_table(s, context.verbose);
  text += s.stayed_float.empty() ? "" : float_table(s, context.verbose);
  text += s.outputs.empty() ? "" : error_tables(s, context.verbose);

  Table foot({{}, {}});
  add_foot(foot, s, diagnostics, context);
  return text + "\n" + foot.text();
}

std::string statistics_text(const QuantizeSummary& s, const Diagnostics& diagnostics,
                            const SummaryContext& context) {
  Table head({{}, {}});
  head.add({"model", s.model});
  head.add({"run", run_text(s)});
  head.add({"observed", counted(s.observed, "tensor") + ", " + human_bytes(s.size_after)});
  if (!s.movement.empty()) {
    head.add({"settled", settled_text(s)});
  }
  Table foot({{}, {}});
  add_foot(foot, s, diagnostics, context);
  return head.text() + (s.movement.empty() ? "" : movement_table(s, context.verbose)) + "\n" +
         foot.text();
}

}  // namespace halfstep::cli
