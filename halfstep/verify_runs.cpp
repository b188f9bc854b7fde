#include "halfstep/verify_runs.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <utility>

#include "halfstep/support/error.h"
#include "halfstep/verify_values.h"

namespace halfstep {
namespace {

/// As the library calls a tensor or graph that it loaded from a DLC.
std::string loaded_name(std::string name) {
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// What is there under `name`, or under what it was called before it was stored in a DLC.
template <typename Map>
auto find_loaded(Map& map, const std::string& name) {
  const auto found = map.find(name);
  return found != map.end() ? found : std::ranges::find_if(map, [&](const auto& entry) {
    return loaded_name(entry.first) == loaded_name(name);
  });
}

class EmulatorRun final : public TargetRun {
 public:
  EmulatorRun(qnn::ClientOptions options, const qnn::Graph& graph, const std::filesystem::path& dlc,
              const std::vector<VerifiedTensor>& tensors)
      : client_(std::move(options)), tensors_(tensors) {
    if (dlc.empty()) {
      prepare(graph);
    } else {
      prepared_ = client_.load_dlc(dlc);
    }
  }

  TensorValues run(const Sample& sample) override {
    qnn::Values inputs;
    for (const qnn::Tensor& input : prepared_.inputs) {
      const auto found = find_loaded(sample, input.name);
      require(found != sample.end(), "the target's graph has an input \"" + input.name +
                                         "\" that the simulation has not: they are not of the "
                                         "same model");
      inputs.emplace(input.name, encoded(input, found->second));
    }
    const qnn::Values values = client_.execute(inputs);
    TensorValues result(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const auto found = find_loaded(values, tensors_[i].stored.name);
      if (found != values.end()) {
        result[i] = in_model_order(decoded(tensors_[i].stored, found->second.data),
                                   stored_extents(tensors_[i].stored), tensors_[i].layout);
      }
    }
    return result;
  }

 private:
  void prepare(const qnn::Graph& graph) {
    std::set<std::string> keep;
    for (const VerifiedTensor& tensor : tensors_) {
      if (tensor.stored.kind == qnn::TensorKind::native) {
        keep.insert(tensor.stored.name);
      }
    }
    try {
      prepared_ = client_.prepare(graph, {.keep = {keep.begin(), keep.end()}});
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
  const std::vector<VerifiedTensor>& tensors_;
  qnn::Prepared prepared_{};
};

class DumpedRun final : public TargetRun {
 public:
  DumpedRun(const Dumps& dumps, const std::vector<VerifiedTensor>& tensors)
      : dumps_(dumps), tensors_(tensors) {}

  TensorValues run(const Sample&) override {
    require(sample_ < dumps_.samples(), "there are more samples than dumps");
    TensorValues result(tensors_.size());
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

}  // namespace

std::unique_ptr<TargetRun> emulator_run(qnn::ClientOptions options, const qnn::Graph& graph,
                                        const std::filesystem::path& dlc,
                                        const std::vector<VerifiedTensor>& tensors) {
  return std::make_unique<EmulatorRun>(std::move(options), graph, dlc, tensors);
}

std::unique_ptr<TargetRun> dumped_run(const Dumps& dumps,
                                      const std::vector<VerifiedTensor>& tensors) {
  return std::make_unique<DumpedRun>(dumps, tensors);
}

WatchedRun::WatchedRun(Engine& engine, const Model& model, const std::vector<std::string>& names,
                       int threads, const Progress& progress)
    : values_(names.size()) {
  SessionOptions options{.threads = threads, .optimize = false, .progress = &progress};
  std::map<std::string, std::size_t> watched;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      continue;
    }
    const auto [known, fresh] = watched.try_emplace(names[i], options.watch.size());
    if (fresh) {
      options.watch.push_back(names[i]);
      users_.emplace_back();
    }
    users_[known->second].push_back(i);
  }
  options.on_value = [this](std::size_t watch, const WatchedValue& value) { take(watch, value); };
  session_ = engine.open(model, options);
}

void WatchedRun::take(std::size_t watch, const WatchedValue& value) {
  std::vector<float> floats(static_cast<std::size_t>(element_count(value.shape)));
  for (std::size_t i = 0; i < floats.size(); ++i) {
    floats[i] = value.at(static_cast<std::int64_t>(i));
  }
  for (const std::size_t user : users_[watch]) {
    values_[user] = floats;
  }
}

const TensorValues& WatchedRun::run(const Sample& sample) {
  for (std::vector<float>& values : values_) {
    values.clear();
  }
  (void)session_->run(sample);
  return values_;
}

}  // namespace halfstep
