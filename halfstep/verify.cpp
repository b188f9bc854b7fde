#include "halfstep/verify.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "halfstep/convert.h"
#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/engines/qnn/client.h"
#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/values.h"
#include "halfstep/outputs/qnn/dlc_record.h"
#include "halfstep/support/error.h"
#include "halfstep/targets/backend.h"
#include "halfstep/targets/target.h"
#include "halfstep/verify_dumps.h"
#include "halfstep/verify_subject.h"
#include "halfstep/verify_values.h"

namespace halfstep {
namespace {

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// The graph of a DLC with what its record says about names, layouts and super groups.
struct DlcGraph {
  qnn::LoweredGraph lowered{};
  std::string target{};  ///< in the record; may be empty
};

DlcGraph read_dlc(const std::filesystem::path& file) {
  qnn::dlc::Contents contents = qnn::dlc::read(file, {.params = false, .constants = false});
  if (contents.graphs.size() != 1) {
    throw Error(ErrorKind::invalid_file, file.string() + " holds " +
                                             std::to_string(contents.graphs.size()) +
                                             " graphs; expected 1");
  }
  DlcGraph dlc;
  dlc.lowered.graph = std::move(contents.graphs.front());
  std::set<std::string> taken;
  std::map<std::string, int> groups;
  if (contents.metadata.is_object()) {
    dlc.lowered.places = qnn::places_in(contents.metadata);
    groups = qnn::groups_in(contents.metadata);
    if (contents.metadata.contains("target") && contents.metadata.at("target").is_string()) {
      dlc.target = contents.metadata.at("target").get<std::string>();
    }
  }
  for (const auto& [name, place] : dlc.lowered.places) {
    taken.insert(place.name);
  }
  for (const qnn::Tensor& tensor : dlc.lowered.graph.tensors) {
    if (!taken.contains(tensor.name)) {
      dlc.lowered.places.try_emplace(tensor.name, qnn::TensorPlace{.name = tensor.name});
    }
  }
  for (const qnn::Op& op : dlc.lowered.graph.ops) {
    const auto found = groups.find(op.name);
    dlc.lowered.groups.push_back(found == groups.end() ? -1 : found->second);
  }
  return dlc;
}

/// The Q/DQ model and the graph of one request.
struct Subject {
  Model simulation;
  qnn::LoweredGraph lowered{};
  std::string target{};
};

Subject make_subject(const Model& simulation, Engine& engine, const VerifyRequest& request,
                     Progress& progress, Diagnostics& diagnostics) {
  TargetChoice choice{.backend = request.backend, .arch = request.arch};
  if (request.dlc.empty()) {
    QuantizeResult result = convert(
        simulation.clone(), &engine,
        {.target = choice, .threads = request.threads, .graph = {.keep = true}}, progress);
    std::erase_if(result.diagnostics,
                  [](const Diagnostic& d) { return d.severity == Severity::note; });
    diagnostics = std::move(result.diagnostics);
    return {.simulation = std::move(result.model),
            .lowered = std::move(*result.lowered),
            .target = choose_target(choice).name};
  }
  DlcGraph dlc = read_dlc(request.dlc);
  const bool known = request.arch.empty() && std::ranges::count(Target::shipped(), dlc.target) > 0;
  return {.simulation = simulation.clone(),
          .lowered = std::move(dlc.lowered),
          .target = known ? dlc.target : choose_target(choice).name};
}

/// Where the target's values come from.
class TargetRun {
 public:
  virtual ~TargetRun() = default;
  /// The tensors of the next sample in the model's order; empty where there is none.
  [[nodiscard]] virtual std::vector<std::vector<float>> run(const Sample& sample) = 0;
};

class EmulatorRun final : public TargetRun {
 public:
  EmulatorRun(qnn::ClientOptions options, const Subject& subject,
              const std::vector<VerifiedTensor>& tensors, const VerifyRequest& request)
      : client_(std::move(options)), subject_(subject), tensors_(tensors) {
    if (request.dlc.empty()) {
      prepare();
    } else {
      prepared_ = client_.load_dlc(request.dlc);
    }
  }

  std::vector<std::vector<float>> run(const Sample& sample) override {
    qnn::Values inputs;
    for (const qnn::Tensor& input : prepared_.inputs) {
      const auto found = sample.find(input.name);
      require(found != sample.end(), "the target's graph has an input \"" + input.name +
                                         "\" that the simulation has not: they are not of the "
                                         "same model");
      inputs.emplace(input.name, encoded(input, found->second));
    }
    const qnn::Values values = client_.execute(inputs);
    std::vector<std::vector<float>> result(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const auto found = values.find(tensors_[i].stored.name);
      if (found != values.end()) {
        result[i] = in_model_order(decoded(tensors_[i].stored, found->second.data),
                                   stored_extents(tensors_[i].stored), tensors_[i].layout);
      }
    }
    return result;
  }

 private:
  void prepare() {
    std::set<std::string> keep;
    for (const VerifiedTensor& tensor : tensors_) {
      if (!tensor.output) {
        keep.insert(tensor.stored.name);
      }
    }
    try {
      prepared_ = client_.prepare(subject_.lowered.graph, {.keep = {keep.begin(), keep.end()}});
    } catch (const Error& error) {
      if (keep.empty() || error.kind() != ErrorKind::unsupported) {
        throw;
      }
      throw Error(error.kind(), std::string(error.what()) +
                                    "; with tensors between operators kept; --tensors outputs "
                                    "runs the graph as it is deployed");
    }
  }

  qnn::Client client_;
  const Subject& subject_;
  const std::vector<VerifiedTensor>& tensors_;
  qnn::Prepared prepared_{};
};

class DumpedRun final : public TargetRun {
 public:
  DumpedRun(const Dumps& dumps, const std::vector<VerifiedTensor>& tensors)
      : dumps_(dumps), tensors_(tensors) {}

  std::vector<std::vector<float>> run(const Sample&) override {
    require(sample_ < dumps_.samples(), "there are more samples than dumps");
    std::vector<std::vector<float>> result(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (const auto file = dumps_.file_of(sample_, tensors_[i])) {
        result[i] = Dumps::read(*file, tensors_[i]);
      }
    }
    ++sample_;
    return result;
  }

 private:
  const Dumps& dumps_;
  const std::vector<VerifiedTensor>& tensors_;
  std::size_t sample_ = 0;
};

/// A model on the engine whose tensors stand beside those of the target.
class WatchedRun {
 public:
  /// `names`: by tensor its name in the model; empty: the model has none like it.
  WatchedRun(Engine& engine, const Model& model, const std::vector<std::string>& names, int threads,
             const Progress& progress)
      : values_(names.size()) {
    SessionOptions options{.threads = threads, .optimize = false, .progress = &progress};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) {
        continue;
      }
      const auto [known, fresh] = watched_.try_emplace(names[i], options.watch.size());
      if (fresh) {
        options.watch.push_back(names[i]);
        users_.emplace_back();
      }
      users_[known->second].push_back(i);
    }
    options.on_value = [this](std::size_t watch, const WatchedValue& value) {
      std::vector<float> floats(static_cast<std::size_t>(element_count(value.shape)));
      for (std::size_t i = 0; i < floats.size(); ++i) {
        floats[i] = value.at(static_cast<std::int64_t>(i));
      }
      for (const std::size_t user : users_[watch]) {
        values_[user] = floats;
      }
    };
    session_ = engine.open(model, options);
  }

  const std::vector<std::vector<float>>& run(const Sample& sample) {
    for (std::vector<float>& values : values_) {
      values.clear();
    }
    (void)session_->run(sample);
    return values_;
  }

 private:
  std::map<std::string, std::size_t> watched_{};
  std::vector<std::vector<std::size_t>> users_{};  // by watch: tensors
  std::vector<std::vector<float>> values_;
  std::unique_ptr<Session> session_{};
};

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
    result_.bound = request.bound.value_or(AgreementBound{});
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
      compare(target->run(*sample), simulation.run(*sample), floats ? &floats->run(*sample) : nullptr);
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
      return std::make_unique<DumpedRun>(*dumps, tensors_);
    }
    const Target target = Target::load(subject_.target);
    return std::make_unique<EmulatorRun>(
        qnn::ClientOptions{.libraries = request_.qnn_libraries,
                           .arch = target.arch(),
                           .soc = static_cast<std::uint32_t>(target.soc()),
                           .progress = &progress_},
        subject_, tensors_, request_);
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

  void compare(const std::vector<std::vector<float>>& target,
               const std::vector<std::vector<float>>& simulation,
               const std::vector<std::vector<float>>* floats) {
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
      result_.diagnostics.push_back(
          {.severity = Severity::note,
           .rule = "verify/not-compared",
           .subject = without.front(),
           .message = std::to_string(without.size()) + " tensors have no values on both sides: " +
                      names + (without.size() > 3 ? ", ..." : "")});
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

/// null without values; "inf" where nothing differs.
Json decibels(const ErrorPower& power) {
  if (power.values == 0) {
    return nullptr;
  }
  const double db = power.sqnr_db();
  return std::isfinite(db) ? Json(db) : Json(db > 0 ? "inf" : "-inf");
}

Json to_json(const VerifyRow& row) {
  const std::optional<double> margin = row.margin_db();
  const std::optional<double> share = row.target_simulation.equal_share();
  const bool stepped = row.target_simulation.codes > 0;
  return {{"tensor", row.tensor},
          {"op", row.op_name},
          {"op_type", row.op_type},
          {"type", row.type},
          {"step", row.step > 0 ? Json(row.step) : Json()},
          {"super_group", row.group >= 0 ? Json(row.group) : Json()},
          {"output", row.output},
          {"values", row.target_simulation.power.values},
          {"target_simulation_db", decibels(row.target_simulation.power)},
          {"target_float_db", decibels(row.target_float)},
          {"simulation_float_db", decibels(row.simulation_float)},
          {"margin_db", margin ? Json(*margin) : Json()},
          {"max_steps", stepped ? Json(row.target_simulation.max_steps) : Json()},
          {"equal", share ? Json(*share) : Json()},
          {"departs", row.departs}};
}

}  // namespace

std::optional<double> VerifyRow::margin_db() const noexcept {
  const double close = target_simulation.power.sqnr_db();
  const double error = simulation_float.sqnr_db();
  if (simulation_float.values == 0 || !std::isfinite(close) || !std::isfinite(error)) {
    return std::nullopt;
  }
  return close - error;
}

Json to_json(const VerifyResult& result) {
  Json rows = Json::array();
  for (const VerifyRow& row : result.rows) {
    rows.push_back(to_json(row));
  }
  Json first;
  if (result.first >= 0) {
    const VerifyRow& row = result.rows[static_cast<std::size_t>(result.first)];
    first = {{"tensor", row.tensor},
             {"op", row.op_name},
             {"op_type", row.op_type},
             {"type", row.type},
             {"cause", result.cause}};
  }
  return {{"target", result.target},   {"source", result.source}, {"engine", result.engine},
          {"samples", result.samples}, {"bound", result.bound.text()},
          {"first_departure", first},  {"tensors", std::move(rows)}};
}

VerifyResult verify(const Model& simulation, const Model* float_model, SampleSource& samples,
                    Engine& engine, const VerifyRequest& request, Progress& progress) {
  require(upper(request.backend) == "HTP",
          "there is no emulator of '" + request.backend + "'; expected --on htp");
  require(request.dlc.empty() || !request.dumps.empty() || request.tensors != "all",
          "a DLC gives back its outputs only; --tensors all needs the Q/DQ file as MODEL, or dumps");
  if (request.dumps.empty()) {
    (void)qnn::find_libraries(request.qnn_libraries);  // before the work starts
  }
  return Verification(simulation, float_model, engine, request, progress).run(samples);
}

}  // namespace halfstep
