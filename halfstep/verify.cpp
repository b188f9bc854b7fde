#include "halfstep/verify.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <utility>

#include "halfstep/convert.h"
#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/library.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/values.h"
#include "halfstep/simulation/follow_target.h"
#include "halfstep/support/error.h"
#include "halfstep/targets/backend.h"
#include "halfstep/targets/target.h"
#include "halfstep/verify_dlc.h"
#include "halfstep/verify_dumps.h"
#include "halfstep/verify_runs.h"
#include "halfstep/verify_subject.h"
#include "halfstep/verify_values.h"

namespace halfstep {
namespace {

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// The Q/DQ model and the graph of one request.
struct Subject {
  Model simulation;
  qnn::LoweredGraph lowered{};
  std::string target{};
};

Subject make_subject(const Model& simulation, Engine& engine, const VerifyRequest& request,
                     Progress& progress, Diagnostics& diagnostics) {
  const TargetChoice choice{.backend = request.backend, .arch = request.arch};
  if (request.dlc.empty()) {
    QuantizeResult result =
        convert(simulation.clone(), &engine,
                {.target = choice, .threads = request.threads, .graph = {.keep = true}}, progress);
    require(result.lowered.has_value(), "the model has no graph in the target's operators");
    std::erase_if(result.diagnostics,
                  [](const Diagnostic& d) { return d.severity == Severity::note; });
    diagnostics = std::move(result.diagnostics);
    return {.simulation = std::move(result.model),
            .lowered = std::move(*result.lowered),
            .target = choose_target(choice).name};
  }
  DlcSubject dlc = read_dlc_subject(request.dlc);
  const bool known = request.arch.empty() && std::ranges::count(Target::shipped(), dlc.target) > 0;
  return {.simulation = simulation.clone(),
          .lowered = std::move(dlc.lowered),
          .target = known ? dlc.target : choose_target(choice).name};
}

std::vector<std::string> names_in_float(const Model& model,
                                        const std::vector<VerifiedTensor>& tensors) {
  const GraphIndex graph(model);
  std::vector<std::string> names;
  for (const VerifiedTensor& tensor : tensors) {
    const int type = graph.type(tensor.name).elem_type;
    const bool there = graph.producer(tensor.name) >= 0 && (type == 0 || is_float_type(type));
    names.push_back(there ? tensor.name : "");
  }
  return names;
}

std::vector<std::string> names_in_simulation(const Model& model,
                                             const std::vector<VerifiedTensor>& tensors) {
  const GraphIndex graph(model);
  std::vector<std::string> names;
  for (const VerifiedTensor& tensor : tensors) {
    names.push_back(name_in_simulation(graph, model, tensor));
  }
  return names;
}

void add_power(ErrorPower& power, const std::vector<float>& reference,
               const std::vector<float>& actual) {
  if (reference.empty() || reference.size() != actual.size()) {
    return;  // the model before it was quantized may have other extents
  }
  Agreement sample;
  sample.add(reference, actual, 0);
  power.signal += sample.power.signal;
  power.error += sample.power.error;
  power.values += sample.power.values;
}

class Verification {
 public:
  Verification(const Model& simulation, const Model* float_model, Engine& engine,
               const VerifyRequest& request, Progress& progress)
      : float_model_(float_model),
        engine_(engine),
        request_(request),
        progress_(progress),
        subject_(make_subject(simulation, engine, request, progress, result_.diagnostics)),
        tensors_(verified_tensors(subject_.lowered, request.tensors)) {
    result_.target = subject_.target;
    result_.arithmetic = "qdq";
    if (request.arithmetic == "target" && Target::load(subject_.target).fixed_point()) {
      result_.arithmetic = "target";
      result_.followed = simulation::follow_target(subject_.simulation);
    }
    result_.bound = request.bound.value_or(AgreementBound{});
    result_.rows.reserve(tensors_.size());
    for (const VerifiedTensor& tensor : tensors_) {
      result_.rows.push_back({.tensor = tensor.name,
                              .op_name = tensor.op_name,
                              .op_type = tensor.op_type,
                              .type = std::string(qnn::name_of(tensor.stored.type)),
                              .step = step_of(tensor.stored),
                              .group = tensor.group,
                              .output = tensor.output});
    }
  }

  VerifyResult run(SampleSource& samples) {
    progress_.begin("prepare", 0);
    std::optional<Dumps> dumps;
    if (!request_.dumps.empty()) {
      dumps.emplace(request_.dumps);
    }
    const std::unique_ptr<TargetRun> target = target_run(dumps);
    WatchedRun simulation(engine_, subject_.simulation,
                          names_in_simulation(subject_.simulation, tensors_), request_.threads,
                          progress_);
    std::optional<WatchedRun> floats;
    if (float_model_ != nullptr) {
      floats.emplace(engine_, *float_model_, names_in_float(*float_model_, tensors_),
                     request_.threads, progress_);
    }
    progress_.end();
    const std::size_t most = wanted(samples, dumps);
    progress_.begin("verify", most);
    while (most == 0 || result_.samples < most) {
      const std::optional<Sample> sample = samples.next();
      if (!sample) {
        break;
      }
      progress_.throw_if_cancelled();
      compare(target->run(*sample), simulation.run(*sample),
              floats ? &floats->run(*sample) : nullptr);
      progress_.update(++result_.samples);
    }
    progress_.end();
    check_count(samples, dumps);
    return finish();
  }

 private:
  std::unique_ptr<TargetRun> target_run(const std::optional<Dumps>& dumps) {
    result_.source = dumps ? "dumps" : "emulator";
    if (dumps) {
      return dumped_run(*dumps, tensors_);
    }
    const Target target = Target::load(subject_.target);
    return emulator_run({.libraries = request_.qnn_libraries,
                         .arch = target.arch(),
                         .soc = static_cast<std::uint32_t>(target.soc()),
                         .progress = &progress_},
                        subject_.lowered.graph, request_.dlc, tensors_);
  }

  /// 0: until the data ends.
  [[nodiscard]] std::size_t wanted(const SampleSource& samples,
                                   const std::optional<Dumps>& dumps) const {
    std::size_t most = request_.samples;
    for (const std::size_t count :
         {dumps ? dumps->samples() : std::size_t{0}, samples.size().value_or(0)}) {
      most = count > 0 && (most == 0 || count < most) ? count : most;
    }
    return most;
  }

  void check_count(SampleSource& samples, const std::optional<Dumps>& dumps) const {
    if (result_.samples == 0) {
      throw Error(ErrorKind::invalid_file, "no sample in the data; expected at least one");
    }
    if (dumps && dumps->samples() > result_.samples && request_.samples == 0) {
      throw Error(ErrorKind::invalid_file,
                  request_.dumps.string() + " holds dumps of " + std::to_string(dumps->samples()) +
                      " samples, the data (" + samples.where() + ") " +
                      std::to_string(result_.samples) + "; expected the inputs of the dumps");
    }
  }

  void compare(const TensorValues& target, const TensorValues& simulation,
               const TensorValues* floats) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      VerifyRow& row = result_.rows[i];
      if (!target[i].empty() && !simulation[i].empty()) {
        if (target[i].size() != simulation[i].size()) {
          throw Error(ErrorKind::invalid_file,
                      "tensor \"" + row.tensor + "\" has " + std::to_string(target[i].size()) +
                          " values on the target and " + std::to_string(simulation[i].size()) +
                          " in the simulation: they are not of the same model");
        }
        row.target_simulation.add(simulation[i], target[i], row.step);
      }
      if (floats != nullptr && row.target_simulation.power.values > 0) {
        add_power(row.target_float, (*floats)[i], target[i]);
        add_power(row.simulation_float, (*floats)[i], simulation[i]);
      }
    }
  }

  VerifyResult finish() {
    result_.engine = engine_.name();
    report_uncompared();
    std::vector<bool> departs;
    for (VerifyRow& row : result_.rows) {
      row.departs = result_.bound.broken_by(row.target_simulation);
      departs.push_back(row.departs);
    }
    result_.failed = request_.bound && std::ranges::count(departs, true) > 0;
    result_.first = first_departure(subject_.lowered.graph, tensors_, departs);
    if (result_.first >= 0) {
      result_.cause = likely_departure(tensors_[static_cast<std::size_t>(result_.first)]);
    }
    return std::move(result_);
  }

  /// Rows that nothing stands beside are left out, and said.
  void report_uncompared() {
    std::vector<VerifiedTensor> tensors;
    std::vector<VerifyRow> rows;
    std::vector<std::string> without;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (result_.rows[i].target_simulation.power.values == 0) {
        without.push_back(tensors_[i].name);
        continue;
      }
      tensors.push_back(std::move(tensors_[i]));
      rows.push_back(std::move(result_.rows[i]));
    }
    if (rows.empty()) {
      const std::string first = without.empty() ? "" : ", such as '" + without.front() + "'";
      throw Error(ErrorKind::invalid_file,
                  request_.dumps.empty()
                      ? "no tensor of the target has a float counterpart in the simulation" + first
                      : request_.dumps.string() + ": no file of the " +
                            std::to_string(without.size()) + " tensors that are asked for" + first +
                            "; expected NAME.raw or NAME.npy, in Result_0, Result_1, ...");
    }
    if (!without.empty()) {
      std::string names;
      for (std::size_t i = 0; i < std::min<std::size_t>(3, without.size()); ++i) {
        names += (i == 0 ? "'" : ", '") + without[i] + "'";
      }
      result_.diagnostics.push_back({.severity = Severity::note,
                                     .rule = "verify/not-compared",
                                     .subject = without.front(),
                                     .message = std::to_string(without.size()) +
                                                " tensors have no values on both sides: " + names +
                                                (without.size() > 3 ? ", ..." : "")});
    }
    tensors_ = std::move(tensors);
    result_.rows = std::move(rows);
  }

  const Model* float_model_;
  Engine& engine_;
  const VerifyRequest& request_;
  Progress& progress_;
  VerifyResult result_{};
  Subject subject_;
  std::vector<VerifiedTensor> tensors_;
};

}  // namespace

VerifyResult verify(const Model& simulation, const Model* float_model, SampleSource& samples,
                    Engine& engine, const VerifyRequest& request, Progress& progress) {
  require(upper(request.backend) == "HTP",
          "there is no emulator of '" + request.backend + "'; expected --on htp");
  require(request.arithmetic == "target" || request.arithmetic == "qdq",
          "there is no arithmetic '" + request.arithmetic + "'; expected target or qdq");
  require(
      request.dlc.empty() || !request.dumps.empty() || request.tensors != "all",
      "a DLC gives back its outputs only; --tensors all needs the Q/DQ file as MODEL, or dumps");
  if (request.dumps.empty()) {
    (void)qnn::find_libraries(request.qnn_libraries);  // before the work starts
  }
  return Verification(simulation, float_model, engine, request, progress).run(samples);
}

}  // namespace halfstep
