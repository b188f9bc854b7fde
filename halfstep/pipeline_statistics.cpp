#include "halfstep/pipeline_statistics.h"

#include <algorithm>

#include "halfstep/core/range_search.h"
#include "halfstep/model/fingerprint.h"
#include "halfstep/support/diagnostic_text.h"
#include "halfstep/support/error.h"
#include "halfstep/version.h"

namespace halfstep {
namespace {

constexpr std::size_t kNamed = 5;

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    list += (i == 0 ? "\"" : ", \"") + names[i] + '"';
  }
  return list + (names.size() > kNamed ? ", ..." : "");
}

std::optional<double> percentile_used(const Recipe& recipe, const std::string& method) {
  return method == "percentile" && recipe.activation
             ? std::optional(percentile_of(*recipe.activation))
             : std::nullopt;
}

}  // namespace

JobStatistics::JobStatistics(const StatisticsRequest& request, const Model& model)
    : request_(request) {
  if (request.from.empty() && request.resume.empty() && request.to.empty()) {
    return;
  }
  fingerprint_ = fingerprint(model);
  graph_ = model.graph().name();
  const auto read = [&](const std::filesystem::path& path, std::optional<StatisticsFile>& file) {
    if (!path.empty()) {
      file = read_statistics(path);
      require_model(*file, fingerprint_, model.name(), path.string());
    }
  };
  read(request.from, from_);
  read(request.resume, resumed_);
}

void JobStatistics::choose_method(Recipe& recipe, const std::string& method,
                                  const std::optional<double>& percentile) const {
  if (!method.empty()) {
    use_method(recipe, method, percentile);
    return;
  }
  require(!percentile, "a percentile is for method percentile; add --method percentile");
  const std::optional<StatisticsFile>& saved = from_ ? from_ : resumed_;
  if (saved && recipe.activation && !saved->source.method.empty()) {
    use_method(recipe, saved->source.method, saved->source.percentile);
  }
}

CalibrationResult JobStatistics::ranges(std::span<const ObservedTensor> needed,
                                        std::span<const ObservedTensor> helpful,
                                        Diagnostics& diagnostics) const {
  const StatisticsFile& file = from_.value();
  CalibrationResult result{.samples = file.samples, .widened = file.source.widened};
  std::vector<std::string> missing;
  const auto take = [&](std::span<const ObservedTensor> tensors) {
    for (const ObservedTensor& tensor : tensors) {
      const auto found = file.tensors.find(tensor.name);
      if (found == file.tensors.end()) {
        missing.push_back(tensor.name);
        continue;
      }
      TensorStatistics statistics = found->second;
      try {
        statistics.range = range_of(statistics, tensor.spec);
      } catch (const Error& error) {
        throw error.within(request_.from.string() + ": tensor \"" + tensor.name + '"');
      }
      result.statistics.emplace(tensor.name, std::move(statistics));
    }
  };
  take(needed);
  if (!missing.empty()) {
    throw Error(ErrorKind::invalid_argument,
                request_.from.string() + ": no statistics of " + counted(missing.size(), "tensor") +
                    " that this recipe and target need: " + listed(missing) +
                    "; calibrate with the same recipe, target and encodings as you quantize");
  }
  take(helpful);
  if (!missing.empty()) {
    diagnostics.push_back(
        {.severity = Severity::warning,
         .rule = "calibration/unknown-range",
         .subject = missing.front(),
         .message = request_.from.string() + ": no statistics of " +
                    counted(missing.size(), "tensor") + " that stay float: " + listed(missing) +
                    "; whether float16 can hold their values was not checked. Calibrate with "
                    "the same recipe and target as you quantize"});
  }
  return result;
}

const std::map<std::string, TensorStatistics>* JobStatistics::start(
    std::span<const ObservedTensor> tensors, const Recipe& recipe,
    const std::string& engine) const {
  if (!resumed_) {
    return nullptr;
  }
  const std::string name = request_.resume.string();
  const StatisticsSource now = source(recipe, engine, resumed_->source.widened);
  if (resumed_->source != now) {
    const auto text = [](const StatisticsSource& s) {
      return s.engine + ", method " + s.method +
             (s.percentile ? " " + Json(*s.percentile).dump() : "") + ", halfstep " + s.halfstep;
    };
    throw Error(ErrorKind::invalid_argument,
                name + ": statistics of " + text(resumed_->source) + ", and this run has " +
                    text(now) + "; go on in the same way, or calibrate from the start");
  }
  std::vector<std::string> missing;
  for (const ObservedTensor& tensor : tensors) {
    if (!resumed_->tensors.contains(tensor.name)) {
      missing.push_back(tensor.name);
    }
  }
  require(missing.empty() && resumed_->tensors.size() == tensors.size(),
          name + ": statistics of " + counted(resumed_->tensors.size(), "tensor") +
              ", and this run observes " + std::to_string(tensors.size()) +
              (missing.empty() ? "" : ", of which the file lacks " + listed(missing)) +
              "; go on with the same recipe, target and encodings");
  return &resumed_->tensors;
}

StatisticsSource JobStatistics::source(const Recipe& recipe, const std::string& engine,
                                       bool widened) const {
  const std::string method = calibration_method(recipe);
  return {.halfstep = std::string(kVersion),
          .model = fingerprint_,
          .graph = graph_,
          .engine = engine,
          .widened = widened,
          .method = method,
          .percentile = percentile_used(recipe, method)};
}

StatisticsFile JobStatistics::collected(const CalibrationResult& measured, const Recipe& recipe,
                                        const std::string& engine) const {
  return {.source = source(recipe, engine, measured.widened),
          .samples = measured.samples + (resumed_ ? resumed_->samples : 0),
          .tensors = measured.statistics};
}

std::vector<TensorMovement> movements(const CalibrationResult& measured,
                                      std::span<const ObservedTensor> planned) {
  std::vector<TensorMovement> list;
  for (const ObservedTensor& tensor : planned) {
    const auto found = measured.statistics.find(tensor.name);
    if (found != measured.statistics.end() && found->second.has_finite() && measured.samples > 1) {
      const TensorStatistics& seen = found->second;
      list.push_back({.tensor = tensor.name,
                      .share = seen.moved ? *seen.moved : expected_movement(seen),
                      .expected = !seen.moved});
    }
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return list;
}

}  // namespace halfstep
