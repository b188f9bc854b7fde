#include "halfstep/pipeline.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "halfstep/adaptation/adapt.h"
#include "halfstep/adaptation/prepare/unique_node_names.h"
#include "halfstep/adaptation/steps.h"
#include "halfstep/calibration/first_samples.h"
#include "halfstep/calibration/recipe.h"
#include "halfstep/explain.h"
#include "halfstep/model/fold_extents.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/source_arithmetic.h"
#include "halfstep/outputs/encodings_json.h"
#include "halfstep/outputs/float16_onnx.h"
#include "halfstep/outputs/qdq_onnx.h"
#include "halfstep/outputs/qnn_provider_form.h"
#include "halfstep/pipeline_check.h"
#include "halfstep/pipeline_files.h"
#include "halfstep/pipeline_prepare.h"
#include "halfstep/pipeline_statistics.h"
#include "halfstep/pipeline_summary.h"
#include "halfstep/plan.h"
#include "halfstep/plan_encodings.h"
#include "halfstep/plan_observed.h"
#include "halfstep/support/diagnostic_text.h"
#include "halfstep/target_graph.h"
#include "halfstep/target_output.h"
#include "halfstep/targets/target.h"

namespace halfstep {
namespace {

constexpr std::size_t kWorstTensors = 5;

/// Measures one phase into summary.seconds.
class Phase {
 public:
  Phase(QuantizeSummary& summary, std::string name)
      : summary_(summary), name_(std::move(name)), start_(std::chrono::steady_clock::now()) {}
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  ~Phase() {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_;
    summary_.seconds[name_] += took.count();
  }

 private:
  QuantizeSummary& summary_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

Recipe wanted_recipe(const QuantizeRequest& request) {
  Recipe recipe = request.recipe.empty() ? Recipe{.name = "none", .quantize_bias = false}
                                         : load_recipe(request.recipe);
  for (const std::string& option : request.set) {
    recipe.rules.push_back(parse_set(option, recipe));
  }
  for (const std::string& glob : request.exclude) {
    recipe.rules.push_back(exclude_rule(glob));
  }
  return recipe;
}

/// Warnings are errors under --strict.
void enforce_strict(const Diagnostics& diagnostics, bool strict) {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (strict && diagnostic.severity == Severity::warning) {
      throw Error(ErrorKind::invalid_argument,
                  "--strict: " + full_message(diagnostic) + " [" + diagnostic.rule + "]");
    }
  }
}

class QuantizeJob {
 public:
  QuantizeJob(Model model, SampleSource* samples, Engine* engine, const QuantizeRequest& request,
              Progress& progress)
      : samples_(samples),
        engine_(engine),
        request_(request),
        progress_(progress),
        result_{.model = std::move(model), .encodings = {}, .summary = {}, .diagnostics = {}} {}

  QuantizeResult run() {
    if (!request_.dry_run) {
      require_free_outputs(request_, result_.model, samples_);
    }
    start();
    std::string encodings_text;
    {
      take_encodings();
      const GraphIndex graph = prepared_graph();
      const Plan plan = planned(graph);
      if (request_.dry_run) {
        return rehearse(graph, plan);
      }
      make_node_names_unique(result_.model, result_.diagnostics);
      const CalibrationResult measured = collect(graph, plan);
      if (!request_.statistics.to.empty()) {
        return write_collected(measured);
      }
      encode(graph, plan, measured);
      account(graph, result_.encodings);
      if (!request_.encodings_out.empty() && !adapts()) {
        encodings_text = write_encodings(result_.encodings, graph);
      }
    }
    if (adapts()) {
      encodings_text = adapt_to_target();
    }
    write(encodings_text);
    return finish();
  }

 private:
  QuantizeSummary& summary() { return result_.summary; }

  void start() {
    statistics_.emplace(request_.statistics, result_.model);
    target_.emplace(Target::load(request_.target));
    require_steps(request_.skip, *target_);
    require(!request_.fallback || adapts(),
            "--fallback is about kernels, and target " + target_->name() +
                " has no tables of them; leave it out, or take a target that adapts ('halfstep "
                "targets' lists them)");
    require(!request_.graph.wanted() || adapts(),
            "a graph of the target's operators needs a target with tables of kernels, and " +
                target_->name() + " has none; take htp_v75 ('halfstep targets' lists them)");
    summary().model = result_.model.name();
    summary().recipe = request_.recipe.empty() ? "none" : request_.recipe;
    summary().target = request_.target;
    summary().engine = engine_ == nullptr ? "" : engine_->name();
    summary().size_before = result_.model.source_size();
    summary().weights_before = weight_bytes(result_.model);
  }

  [[nodiscard]] bool adapts() const { return target_->kernels() != nullptr; }
  [[nodiscard]] const EncodingTable& written_table() const {
    return adapts() ? written_ : result_.encodings;
  }
  [[nodiscard]] QdqOptions qdq_options() const {
    return {.threads = request_.threads,
            .engine_barriers = !adapts(),
            .inner_pairs = inner_pairs_,
            .streams = deferred_.streams};
  }
  /// Where weights go whose encodings nobody needs before they are written; else null.
  [[nodiscard]] DeferredWeights* deferred() {
    const bool written = !request_.output.empty() || request_.dry_run;
    const bool wanted =
        request_.defer_weights && written && request_.encodings_out.empty() && !adapts();
    return wanted ? &deferred_ : nullptr;
  }

  /// Returns the text of the encodings file, if one is wanted.
  std::string adapt_to_target() {
    const Phase phase(summary(), "adapt");
    const std::size_t first = result_.diagnostics.size();
    const EncodingTable requested = result_.encodings;
    AdaptResult adapted =
        adapt(result_.model, std::move(result_.encodings), *target_,
              {.ranges = ranges_, .fallback = request_.fallback, .skip = request_.skip},
              result_.diagnostics);
    result_.encodings = std::move(adapted.encodings);
    summary().adapted = adapted.totals;
    if (summary().overrides) {
      mark_adapted(*summary().overrides, result_.diagnostics, first);
    }
    std::string text;
    {
      const GraphIndex graph(result_.model);
      Plan shape{.nodes =
                     std::vector<NodePlan>(static_cast<std::size_t>(graph.graph().node_size()))};
      for (int i = 0; i < graph.graph().node_size(); ++i) {
        const auto& inputs = graph.graph().node(i).input();
        shape.nodes[static_cast<std::size_t>(i)].quantized = std::any_of(
            inputs.begin(), inputs.end(),
            [&adapted](const std::string& input) { return adapted.inner.contains(input); });
      }
      summary().types = type_rows(graph, shape, result_.encodings);
      summary().stayed_float = default_float_reasons(result_.diagnostics, first);
      summary().quantized_activations = summary().quantized_weights = 0;
      summary().quantized_biases = 0;
      count_quantized(graph, shape, result_.encodings, summary());
      if (!request_.encodings_out.empty()) {
        text = write_encodings(result_.encodings, graph);
      }
    }
    lower(adapted.inner);
    written_ = result_.encodings;
    shape_for_qnn_provider(result_.model, written_, result_.diagnostics);
    inner_pairs_ = pair_inner_tensors(result_.model, adapted.inner, written_, result_.diagnostics);
    record_decisions(result_.model, target_->name(), requested, result_.diagnostics);
    write_float16(result_.model, written_);
    return text;
  }

  /// The adapted model in the target's own operators, and what their validator says.
  void lower(const std::unordered_set<std::string>& inner) {
    if (!request_.graph.wanted()) {
      return;
    }
    const Phase phase(summary(), "lower");
    Model fixed = result_.model.clone();
    fix_input_extents(fixed, request_.graph.input_extents, result_.diagnostics);
    fold_extents(fixed);
    const bool blocks = request_.graph.dlc.empty();
    result_.lowered = target_graph(fixed, result_.encodings, inner, *target_, blocks);
    note_unpacked(*result_.lowered, result_.diagnostics);
    if (request_.graph.validate) {
      summary().validated = validate_graph(*result_.lowered, *target_, request_.graph, progress_);
    }
  }

  void take_encodings() {
    const Phase phase(summary(), "prepare");
    if (adapts() || !request_.convert) {
      remove_source_arithmetic(result_.model);
    }
    if (!request_.graph.input_extents.empty()) {
      // What is computed from extents is constant then, and needs no operator of the target.
      fix_input_extents(result_.model, request_.graph.input_extents, result_.diagnostics);
      fold_extents(result_.model);
    }
    given_.emplace(result_.model, request_.encodings, request_.lenient, adapts(),
                   result_.diagnostics);
    summary().model_encodings = given_->from_model();
  }

  void account(const GraphIndex& graph, const EncodingTable& encodings) {
    if (given_->has_file()) {
      summary().overrides = given_->account(graph, encodings);
    }
  }

  GraphIndex prepared_graph() {
    const Phase phase(summary(), "prepare");
    const std::size_t first = result_.diagnostics.size();
    prepare(result_.model,
            {.keep = &given_->tensors(),
             .engine = engine_,
             .threads = request_.threads,
             .for_kernels = adapts(),
             .skip = request_.skip},
            result_.diagnostics);
    for (std::size_t i = first; i < result_.diagnostics.size(); ++i) {
      ++summary().prepared[result_.diagnostics[i].rule];
    }
    return GraphIndex(result_.model);
  }

  Plan planned(const GraphIndex& graph) {
    const Phase phase(summary(), "plan");
    recipe_ = wanted_recipe(request_);
    statistics_->choose_method(recipe_, request_.method, request_.percentile);
    given_->add_rules(graph, samples_ != nullptr || statistics_->given(), recipe_);
    Plan plan = make_plan(result_.model, graph, recipe_, *target_, result_.diagnostics);
    given_->take_from(plan, graph);
    const EncodingTable& given = given_->table();
    std::erase_if(plan.float_weights, [&given](const FloatWeight& weight) {
      return given.find(weight.tensor) != nullptr;
    });
    summary().types = type_rows(graph, plan, given);
    summary().stayed_float =
        request_.recipe.empty() ? bare_reasons(graph, given) : float_reasons(graph, plan);
    count_quantized(graph, plan, given, summary());
    const bool news = !plan.activations.empty() || !plan.biases.empty() ||
                      std::any_of(plan.weights.begin(), plan.weights.end(),
                                  [](const auto& weight) { return weight.given == nullptr; });
    if (!request_.convert && !news && (!given_->has_file() || given.empty())) {
      throw Error(ErrorKind::nothing_to_do, nothing_to_quantize(graph, summary()));
    }
    return plan;
  }

  /// A dry run: decides everything and makes the model that would be written, with placeholders for
  /// what samples would tell. Their values have no influence on sizes and types. The result is the
  /// float model, and the encodings are those that were given.
  QuantizeResult rehearse(const GraphIndex& graph, const Plan& plan) {
    const CalibrationResult measured = placeholder_ranges(plan);
    summary().placeholders = !measured.statistics.empty();
    Diagnostics of_placeholders;  // they speak of numbers that nobody measured
    Diagnostics& told = summary().placeholders ? of_placeholders : result_.diagnostics;
    Model original = result_.model.clone();
    make_node_names_unique(result_.model, result_.diagnostics);
    {
      const Phase phase(summary(), "weights");
      result_.encodings = make_encodings(result_.model, graph, plan, given_->table(), measured,
                                         request_.threads, deferred(), progress_, told);
    }
    account(graph, result_.encodings);
    if (adapts()) {
      (void)adapt_to_target();
    }
    write_qdq(result_.model, written_table(), qdq_options(), told);
    summary().weights_after = weight_bytes(result_.model);
    summary().size_after = result_.model.serialized_size();
    for (const auto& [tensor, stream] : deferred_.streams) {
      (void)stream->parameters();  // what a look at the values would tell
      stream->drop_parameters();
    }
    report_non_finite(deferred_, told);
    deferred_ = {};
    result_.model = std::move(original);
    result_.encodings = given_->table();
    return finish();
  }

  /// What the samples show of all tensors that a decision needs, or saved statistics of them.
  CalibrationResult collect(const GraphIndex& graph, const Plan& plan) {
    std::vector<ObservedTensor> tensors = observed_tensors(plan);
    find_channels(graph, tensors);
    const std::vector<ObservedTensor> planned = tensors;
    require(!planned.empty() || !statistics_->given(),
            "recipe " + request_.recipe +
                " measures no activation, so statistics have nothing to tell; leave them out");
    const bool measures = !planned.empty() && !statistics_->given();
    CalibrateOptions options{.threads = request_.threads};
    if (samples_ != nullptr && request_.check && request_.statistics.to.empty()) {
      append(tensors, given_activations(graph, given_->table()));
      check_.emplace(graph, tensors, request_.check_samples);
      check_->attach(options);
    }
    for (const std::string& name : tensors_before_selection(graph, plan)) {
      tensors.push_back({.name = name, .spec = plan.activations.front().spec});
    }
    std::vector<ObservedTensor> floats;
    if (!planned.empty() && adapts()) {
      floats = float_activations(graph, plan, tensors);
      append(tensors, floats);
    }
    if (measures) {
      require(samples_ != nullptr && engine_ != nullptr,
              "recipe " + request_.recipe +
                  " measures activations on samples: give --calibration DATA (a folder of .npz or "
                  ".npy, or one .npz), or a weight-only recipe such as w8");
      options.start = statistics_->start(tensors, recipe_, engine_->name());
    }
    CalibrationResult measured;
    if (samples_ != nullptr && (measures || check_)) {
      const Phase phase(summary(), "calibrate");
      FirstSamples few(*samples_, request_.check_samples);
      measured = run_float(measures ? *samples_ : few, tensors, measures, options);
    }
    if (statistics_->given()) {
      measured = statistics_->ranges(planned, floats, result_.diagnostics);
    }
    summary().samples = measured.samples + statistics_->earlier_samples();
    summary().observed = measured.statistics.size();
    summary().method = planned.empty() ? "" : calibration_method(recipe_);
    summary().movement = movements(measured, planned);
    ranges_ = measured_ranges(measured);
    return measured;
  }

  void encode(const GraphIndex& graph, const Plan& plan, const CalibrationResult& measured) {
    const Phase phase(summary(), "weights");
    result_.encodings =
        make_encodings(result_.model, graph, plan, given_->table(), measured, request_.threads,
                       deferred(), progress_, result_.diagnostics);
  }

  /// The end of `calibrate`.
  QuantizeResult write_collected(const CalibrationResult& measured) {
    if (measured.statistics.empty()) {
      throw Error(ErrorKind::nothing_to_do,
                  "recipe " + request_.recipe + " quantizes no activation of " +
                      result_.model.name() + ", so there is nothing to observe");
    }
    enforce_strict(result_.diagnostics, request_.strict);
    progress_.throw_if_cancelled();
    write_statistics(request_.statistics.to,
                     statistics_->collected(measured, recipe_, engine_->name()));
    summary().size_after = std::filesystem::file_size(request_.statistics.to);
    return finish();
  }

  static void append(std::vector<ObservedTensor>& tensors, std::vector<ObservedTensor> more) {
    tensors.insert(tensors.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  }

  /// Weights need no run: where the engine can't run the model, only the check is lost.
  CalibrationResult run_float(SampleSource& samples, const std::vector<ObservedTensor>& tensors,
                              bool measures, const CalibrateOptions& options) {
    try {
      CalibrationResult measured = calibrate(result_.model, *engine_, samples, tensors, options,
                                             progress_, result_.diagnostics);
      if (measured.widened && check_) {
        leave_unchecked("the engine can't run the model in its own types");
      }
      return measured;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) {
        throw;
      }
      if (measures) {
        throw Error(error.kind(),
                    std::string(error.what()) +
                        "; activations are measured by running the float model: give an engine "
                        "that knows its operators, or take a weight-only recipe such as w8");
      }
      leave_unchecked(error.what());
      return {};
    }
  }

  void leave_unchecked(const std::string& why) {
    check_.reset();
    result_.diagnostics.push_back({.severity = Severity::warning,
                                   .rule = "check/not-run",
                                   .subject = result_.model.name(),
                                   .message = why + "; the result was written without being run"});
  }

  void write(const std::string& encodings_text) {
    OutputFiles files(request_, progress_);
    std::filesystem::path written;
    {
      const Phase phase(summary(), "write");
      write_qdq(result_.model, written_table(), qdq_options(), result_.diagnostics);
      summary().weights_after = weight_bytes(result_.model);
      written = files.write_model(result_.model);
      summary().size_after = files.model_size(result_.model);
      report_non_finite(deferred_, result_.diagnostics);
    }
    files.write_encodings(encodings_text);
    if (!request_.graph.dlc.empty()) {
      const Phase phase(summary(), "dlc");
      const std::filesystem::path temporary = files.dlc();
      write_target_dlc(*result_.lowered, *target_, request_.graph, temporary, progress_);
      if (request_.output.empty()) {
        summary().size_after = std::filesystem::file_size(temporary);
      }
    }
    check(written);
    enforce_strict(result_.diagnostics, request_.strict);
    progress_.throw_if_cancelled();
    files.commit();
  }

  void check(const std::filesystem::path& written) {
    if (!check_) {
      return;
    }
    const Phase phase(summary(), "check");
    check_->run(*engine_, result_.model, written, request_.threads, progress_, result_.diagnostics);
    summary().outputs = check_->outputs();
    summary().worst = check_->worst(kWorstTensors, result_.encodings);
  }

  QuantizeResult finish() {
    enforce_strict(result_.diagnostics, request_.strict);
    summary().peak_memory = peak_memory();
    result_.deferred = std::move(deferred_.streams);
    return std::move(result_);
  }

  SampleSource* samples_;
  Engine* engine_;
  const QuantizeRequest& request_;
  Progress& progress_;
  QuantizeResult result_;
  std::optional<Target> target_{};
  std::optional<JobStatistics> statistics_{};
  Recipe recipe_{};
  std::map<std::string, RealRange> ranges_{};  // what calibration saw
  std::set<std::string> inner_pairs_{};        // in its file only
  DeferredWeights deferred_{};
  EncodingTable written_{};  // of an adapted model: as its file stores it
  std::optional<GivenEncodings> given_{};
  std::optional<QuantizedCheck> check_{};
};

}  // namespace

void complete_encodings(QuantizeResult& result) {
  for (const auto& [tensor, stream] : result.deferred) {
    result.encodings.set(tensor, stream->encoding());
    stream->drop_parameters();
  }
  result.deferred.clear();
}

QuantizeResult quantize(Model model, SampleSource* samples, Engine* engine,
                        const QuantizeRequest& request, Progress& progress) {
  return QuantizeJob(std::move(model), samples, engine, request, progress).run();
}

}  // namespace halfstep
