#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sched.h>

#include "cli/arguments.h"
#include "cli/command_error.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/images.h"
#include "cli/input_spec.h"
#include "cli/json_document.h"
#include "cli/load.h"
#include "cli/progress_line.h"
#include "cli/signals.h"
#include "cli/summary.h"
#include "halfstep/calibration/samples.h"
#include "halfstep/engines/engine.h"
#include "halfstep/engines/lazy_engine.h"
#include "halfstep/frontends/load.h"
#include "halfstep/frontends/safetensors.h"
#include "halfstep/model/model.h"
#include "halfstep/output_check.h"
#include "halfstep/pipeline.h"
#include "halfstep/quantize_tensors.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/diagnostic_text.h"
#include "halfstep/support/json.h"

namespace halfstep::cli {
namespace {

/// Processors this process may use; more than 16 do not pay for calibration.
int default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return 1;
  }
  return std::clamp(CPU_COUNT(&set), 1, 16);
}

void check_usage(const QuantizeArguments& a) {
  if (a.command == "encodings apply" && a.output.empty()) {
    throw UsageError("no output given", "add -o OUT.onnx");
  }
  if (a.output.empty() && a.encodings_out.empty() && a.dlc.empty() && a.stats_out.empty() &&
      !a.dry_run) {
    throw UsageError("no output given", "add -o OUT.onnx, or --dry-run to see the plan only");
  }
  for (const auto& [option, file] :
       {std::pair("-o", a.output), std::pair("--encodings-out", a.encodings_out),
        std::pair("--dlc", a.dlc), std::pair("-o", a.stats_out)}) {
    if (file == "-") {
      throw UsageError(std::string(option) + " - : results are written to files only",
                       "give a name, such as out.onnx (./- is a file named -)");
    }
  }
  if (a.calibration.empty() && (!a.input_spec.empty() || a.cast_inputs)) {
    throw UsageError(std::string(a.cast_inputs ? "--cast-inputs" : "--input-spec") +
                         " is about samples, and there are none",
                     "add --calibration DATA");
  }
  if (a.lenient && a.encodings.empty()) {
    throw UsageError("--lenient is about an encodings file, and there is none",
                     "add --encodings FILE");
  }
  if (!a.input_spec.empty() && a.cast_inputs) {
    throw UsageError("--cast-inputs is not for images: they get the input's type", "leave it out");
  }
}

/// What can be told before the model is loaded; quantize() looks at all files that are read.
void check_outputs(const QuantizeArguments& a) {
  if (a.dry_run) {
    return;
  }
  const std::vector<InputFile> inputs = {{.what = "the model", .path = a.model},
                                         {.what = "calibration data", .path = a.calibration},
                                         {.what = "the recipe", .path = a.recipe},
                                         {.what = "the target", .path = a.target},
                                         {.what = "the input spec", .path = a.input_spec},
                                         {.what = "the encodings", .path = a.encodings},
                                         {.what = "the statistics", .path = a.stats}};
  if (!is_safetensors(a.model)) {  // else it may be a folder: quantize_tensors() looks at it
    check_output("-o", a.output, inputs, a.force);
  }
  check_output("--encodings-out", a.encodings_out, inputs, a.force);
  check_output(a.convert ? "-o" : "--dlc", a.dlc, inputs, a.force);
  check_output("-o", a.stats_out, inputs, a.force);
  if (same_file(a.output, a.encodings_out)) {
    throw UsageError("-o and --encodings-out are the same file", "give two names");
  }
}

/// "1,3,224,224"
Shape extents_of(const std::string& name, const std::string& text) {
  Shape extents;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    std::int64_t extent = 0;
    const auto [stop, error] = std::from_chars(text.data() + start, text.data() + end, extent);
    if (error != std::errc() || stop != text.data() + end || extent < 1) {
      throw UsageError("-d " + name + " " + text + ": these are no extents",
                       "give numbers of 1 or more between commas, such as 1,3,224,224");
    }
    extents.push_back(extent);
    start = end + 1;
  }
  return extents;
}

TargetOutput target_output(const QuantizeArguments& a) {
  TargetOutput wanted{.dlc = a.dlc, .validate = a.validate, .qnn_libraries = a.qnn_libs};
  for (const auto& [name, dims] : a.input_dims) {
    wanted.input_extents[name] = extents_of(name, dims);
  }
  return wanted;
}

QuantizeRequest request_of(const QuantizeArguments& a) {
  const bool encodings_alone = !a.encodings.empty() && a.calibration.empty() && a.stats.empty();
  return {.output = a.output,
          .encodings_out = a.encodings_out,
          .encodings = a.encodings,
          .recipe = !a.recipe.empty()              ? a.recipe
                    : encodings_alone || a.convert ? ""
                                                   : "a8w8",
          .method = a.method,
          .percentile = a.percentile,
          .statistics = {.from = a.stats, .resume = a.resume, .to = a.stats_out},
          .set = a.set,
          .exclude = a.exclude,
          .target = a.target,
          .threads = a.threads > 0 ? a.threads : default_threads(),
          .dry_run = a.dry_run,
          .check = a.check,
          .strict = a.strict,
          .lenient = a.lenient,
          .fallback = a.fallback,
          .skip = a.skip,
          .convert = a.convert,
          .force = a.force,
          .defer_weights = true,
          .graph = target_output(a),
          .check_samples = static_cast<std::size_t>(a.check_samples)};
}

std::unique_ptr<SampleSource> open_data(const QuantizeArguments& a, const Model& model,
                                        const Environment& environment, Diagnostics& diagnostics) {
  if (a.calibration.empty()) {
    return nullptr;
  }
  const std::vector<TensorInfo> inputs = sample_inputs(model);
  if (a.input_spec.empty()) {
    return open_samples(a.calibration, inputs, {.cast_inputs = a.cast_inputs});
  }
  const Json request = image_request(read_input_spec(a.input_spec), a.calibration, inputs);
  return open_images(request, inputs.front(), environment.python, diagnostics);
}

/// --strict for what was noticed before quantize() began, which has the rest.
void refuse_warnings(const Diagnostics& diagnostics, bool strict) {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (strict && diagnostic.severity == Severity::warning) {
      throw UsageError("--strict: " + full_message(diagnostic) + " [" + diagnostic.rule + "]",
                       "'halfstep rule " + diagnostic.rule + "' explains it");
    }
  }
}

ProgressStyle progress_style(const OutputOptions& options, const Console& console) {
  if (!options.progress || options.quiet > 0) {
    return ProgressStyle::none;
  }
  return console.terminal ? ProgressStyle::bar : ProgressStyle::log;
}

QuantizeResult work(const QuantizeArguments& a, const Environment& environment,
                    Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  Diagnostics diagnostics;
  progress.begin("load", 0);
  LoadOptions loading = load_options(a.form, environment, &progress);
  loading.extents = target_output(a).input_extents;
  Model model = load_model(a.model, loading, diagnostics);
  const std::unique_ptr<SampleSource> samples = open_data(a, model, environment, diagnostics);
  const auto make_engine = [&] {
    return make_onnxruntime_engine(a.onnxruntime.empty() ? environment.onnxruntime : a.onnxruntime);
  };
  std::unique_ptr<Engine> engine;
  if (a.convert) {
    engine = std::make_unique<LazyEngine>(make_engine);  // only for what is constant
  } else if (samples != nullptr && !a.dry_run) {
    engine = make_engine();
  }
  refuse_warnings(diagnostics, a.strict);
  progress.end();
  progress.throw_if_cancelled();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  QuantizeResult result =
      quantize(std::move(model), samples.get(), engine.get(), request_of(a), progress);
  result.summary.seconds["load"] += seconds;
  result.diagnostics.insert(result.diagnostics.begin(), diagnostics.begin(), diagnostics.end());
  result.summary.remark = a.target_remark;
  return result;
}

/// What print_json() and print_text() show.
struct Outcome {
  QuantizeSummary summary{};
  Diagnostics diagnostics{};
};

/// Weights without a graph.
Outcome work_on_tensors(const QuantizeArguments& a, Progress& progress) {
  if (!a.form.signature.empty() || !a.form.inputs.empty() || !a.form.outputs.empty()) {
    throw UsageError("--signature, --inputs and --outputs are about TensorFlow models",
                     "leave them out: " + a.model + " is of safetensors");
  }
  if (!a.calibration.empty()) {
    throw UsageError("--calibration is about models with a graph, and safetensors files have none",
                     "leave it out, and choose a recipe of weights only: w8, w4b32 or mxfp4");
  }
  progress.begin("load", 0);
  const SafeTensorsModel model = read_safetensors(a.model);
  progress.end();
  TensorsResult result = quantize_tensors(model, request_of(a), progress);
  return {.summary = std::move(result.summary), .diagnostics = std::move(result.diagnostics)};
}

Outcome outcome_of(const QuantizeArguments& a, const Environment& environment, Progress& progress) {
  if (!a.convert && is_safetensors(a.model)) {
    return work_on_tensors(a, progress);
  }
  QuantizeResult result = work(a, environment, progress);
  return {.summary = std::move(result.summary), .diagnostics = std::move(result.diagnostics)};
}

void print_json(const QuantizeArguments& a, const Outcome& result, Console& console) {
  Json document = json_document(a.command);
  if (a.stats_out.empty()) {
    document["dry_run"] = a.dry_run;
    document["output"] = a.output;
    document["encodings_out"] = a.encodings_out;
    document["dlc"] = a.dlc;
  } else {
    document["output"] = a.stats_out;
  }
  document["summary"] = to_json(result.summary);
  document["diagnostics"] = to_json(result.diagnostics);
  console.out << json_text(document);
}

void print_text(const QuantizeArguments& a, const Outcome& result, Console& console) {
  SummaryContext context{.dry_run = a.dry_run, .verbose = a.common.verbose};
  for (const std::string& file : {a.output, a.dlc, a.encodings_out, a.stats_out}) {
    if (!file.empty() && !a.dry_run) {
      context.written.push_back(file);
    }
  }
  console.out << (a.stats_out.empty()
                      ? summary_text(result.summary, result.diagnostics, context)
                      : statistics_text(result.summary, result.diagnostics, context));
}

}  // namespace

int run_quantize(const QuantizeArguments& arguments, Console& console,
                 const Environment& environment) {
  check_usage(arguments);
  check_outputs(arguments);
  ProgressLine progress(progress_style(arguments.common, console),
                        [&](std::string_view text) { console.err << text << std::flush; });
  const SignalGuard signals(progress);
  const Outcome result = outcome_of(arguments, environment, progress);
  progress.close();

  if (arguments.common.quiet == 0) {
    print_diagnostics(console, result.diagnostics, arguments.common.verbose);
  }
  if (arguments.common.json) {
    print_json(arguments, result, console);
  } else if (arguments.common.quiet < 2) {
    print_text(arguments, result, console);
  }
  const bool findings = std::ranges::any_of(
      result.diagnostics, [](const Diagnostic& d) { return d.severity == Severity::error; });
  return findings ? 1 : 0;
}

}  // namespace halfstep::cli
