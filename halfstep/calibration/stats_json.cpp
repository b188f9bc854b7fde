#include "halfstep/calibration/stats_json.h"

#include <algorithm>
#include <string>
#include <utility>

#include "halfstep/core/state.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json_reader.h"

namespace halfstep::internal {
namespace {

Json extremes_json(const SampleExtremes& extremes) {
  return numbers_json({extremes.values().begin(), extremes.values().end()});
}

SampleExtremes read_extremes(const Json& json, std::string_view key) {
  const std::vector<float> values = read_numbers(json, key);
  std::array<float, SampleExtremes::kKept> kept{};
  require(values.size() == kept.size(),
          "\"" + std::string(key) + "\" must hold " + std::to_string(kept.size()) + " numbers");
  std::copy(values.begin(), values.end(), kept.begin());
  return SampleExtremes::of(kept);
}

/// Channels as a text of digits, one each: short, and easy to read.
Json channels_json(const ChannelActivity& channels) {
  std::string digits;
  for (const std::uint8_t active : channels.active) {
    digits += active != 0 ? '1' : '0';
  }
  return {{"active", digits}, {"varies", channels.varies}};
}

ChannelActivity read_channels(const JsonReader& reader) {
  reader.allow_only({"active", "varies"});
  ChannelActivity channels{.varies = reader.flag_or("varies", false)};
  for (const char digit : reader.text("active")) {
    require(digit == '0' || digit == '1', "\"active\" must hold the digits 0 and 1");
    channels.active.push_back(digit == '1' ? 1 : 0);
  }
  return channels;
}

Json tensor_json(const std::string& name, const TensorStatistics& statistics) {
  Json json = {{"name", name},
               {"values", statistics.values},
               {"nan_count", statistics.nan_count},
               {"infinity_count", statistics.infinity_count},
               {"mask_count", statistics.mask_count},
               {"mask_below", statistics.mask_below},
               {"mask_above", statistics.mask_above},
               {"min", number_json(statistics.min)},
               {"max", number_json(statistics.max)},
               {"lowest", extremes_json(statistics.lowest)},
               {"highest", extremes_json(statistics.highest)}};
  if (statistics.histogram) {
    const Histogram& histogram = *statistics.histogram;
    json["histogram"] = {{"exponent", histogram.exponent()},
                         {"first_bin", histogram.first_bin()},
                         {"bins", histogram.counts().size()},
                         {"zeros", histogram.zeros()}};
  }
  if (!statistics.calculator.empty()) {
    json["calculator"] = statistics.calculator;
    json["calculator_state"] = statistics.calculator_state;
  }
  if (statistics.channels) {
    json["channels"] = channels_json(*statistics.channels);
  }
  return json;
}

Histogram read_histogram(
    const JsonReader& reader, const TensorStatistics& statistics,
    const std::function<std::vector<std::uint64_t>(std::size_t count)>& counts) {
  reader.allow_only({"exponent", "first_bin", "bins", "zeros"});
  const std::int64_t bins = reader.integer("bins");
  require(bins >= 0 && bins <= static_cast<std::int64_t>(Histogram::kLimit),
          "a histogram of " + std::to_string(bins) + " bins; at most " +
              std::to_string(Histogram::kLimit) + " are kept");
  return Histogram::from_state({.min = statistics.min,
                                .max = statistics.max,
                                .zeros = static_cast<std::uint64_t>(reader.integer("zeros")),
                                .exponent = static_cast<int>(reader.integer("exponent")),
                                .first_bin = reader.integer("first_bin"),
                                .counts = counts(static_cast<std::size_t>(bins))});
}

TensorStatistics read_tensor(
    const JsonReader& reader,
    const std::function<std::vector<std::uint64_t>(std::size_t count)>& counts) {
  reader.allow_only({"name", "values", "nan_count", "infinity_count", "mask_count", "mask_below",
                     "mask_above", "min", "max", "lowest", "highest", "histogram", "calculator",
                     "calculator_state", "channels"});
  const Json& json = reader.json();
  TensorStatistics statistics{.values = read_count(json, "values"),
                              .nan_count = read_count(json, "nan_count"),
                              .infinity_count = read_count(json, "infinity_count"),
                              .mask_count = read_count(json, "mask_count"),
                              .mask_below = reader.flag_or("mask_below", false),
                              .mask_above = reader.flag_or("mask_above", false),
                              .min = static_cast<float>(read_number(json, "min")),
                              .max = static_cast<float>(read_number(json, "max")),
                              .lowest = read_extremes(json, "lowest"),
                              .highest = read_extremes(json, "highest")};
  if (reader.has("histogram")) {
    statistics.histogram = read_histogram(reader.object("histogram"), statistics, counts);
  }
  if (reader.has("calculator")) {
    statistics.calculator = reader.text("calculator");
    statistics.calculator_state = reader.value("calculator_state");
  }
  if (reader.has("channels")) {
    statistics.channels = read_channels(reader.object("channels"));
  }
  return statistics;
}

}  // namespace

Json statistics_json(const StatisticsFile& statistics) {
  const StatisticsSource& source = statistics.source;
  Json json = {{"halfstep", source.halfstep}, {"model", source.model},
               {"graph", source.graph},       {"engine", source.engine},
               {"widened", source.widened},   {"method", source.method}};
  if (source.percentile) {
    json["percentile"] = *source.percentile;
  }
  json["samples"] = statistics.samples;
  json["tensors"] = Json::array();
  for (const auto& [name, tensor] : statistics.tensors) {
    json["tensors"].push_back(tensor_json(name, tensor));
  }
  return json;
}

StatisticsFile read_statistics_json(
    const Json& json, const std::function<std::vector<std::uint64_t>(std::size_t count)>& counts) {
  const JsonReader reader(json, "header");
  reader.allow_only({"halfstep", "model", "graph", "engine", "widened", "method", "percentile",
                     "samples", "tensors"});
  StatisticsFile file{.source = {.halfstep = reader.text("halfstep"),
                                 .model = reader.text("model"),
                                 .graph = reader.text("graph"),
                                 .engine = reader.text("engine"),
                                 .widened = reader.flag_or("widened", false),
                                 .method = reader.text("method")},
                      .samples = static_cast<std::uint64_t>(read_count(json, "samples"))};
  if (reader.has("percentile")) {
    file.source.percentile = read_number(json, "percentile");
  }
  for (const JsonReader& tensor : reader.objects("tensors")) {
    const std::string name = tensor.text("name");
    require(file.tensors.emplace(name, read_tensor(tensor, counts)).second,
            "tensor \"" + name + "\" twice");
  }
  return file;
}

}  // namespace halfstep::internal
