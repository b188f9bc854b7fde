#include "halfstep/outputs/qnn/dlc_record.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/outputs/qnn/layout.h"
#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"

namespace halfstep::qnn {
namespace {

constexpr const char* kGroups = "super_groups";
constexpr const char* kPlaces = "places";
constexpr int kMostAxes = 16;
constexpr int kMostGroups = 1'000'000'000;

[[noreturn]] void refuse(const std::string& key, const char* expected) {
  throw Error(ErrorKind::invalid_file, "halfstep.json: " + key + ": expected " + expected);
}

/// The object under `key`; an empty one if it is not there.
Json object_in(const Json& record, const char* key) {
  if (!record.is_object() || !record.contains(key)) {
    return Json::object();
  }
  if (!record.at(key).is_object()) {
    refuse(key, "an object");
  }
  return record.at(key);
}

int small_number(const Json& value, const std::string& key, int least, int most) {
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number >= least && number <= most) {
      return static_cast<int>(number);
    }
  }
  refuse(key, "a small number");
}

}  // namespace

Json dlc_record(const LoweredGraph& lowered) {
  Json groups = Json::object();
  for (std::size_t i = 0; i < std::min(lowered.groups.size(), lowered.graph.ops.size()); ++i) {
    if (lowered.groups[i] >= 0) {
      groups[lowered.graph.ops[i].name] = lowered.groups[i];
    }
  }
  Json places = Json::object();
  for (const auto& [tensor, place] : lowered.places) {
    Json entry = Json::object();
    if (place.name != tensor) {
      entry["name"] = place.name;
    }
    if (!is_identity(place.layout)) {
      entry["layout"] = place.layout;
    }
    if (!entry.empty()) {
      places[tensor] = std::move(entry);
    }
  }
  return {{kGroups, std::move(groups)}, {kPlaces, std::move(places)}};
}

std::map<std::string, TensorPlace> places_in(const Json& record) {
  std::map<std::string, TensorPlace> found;
  const Json places = object_in(record, kPlaces);
  for (const auto& [tensor, entry] : places.items()) {
    const std::string key = std::string(kPlaces) + "/" + tensor;
    TensorPlace place{.name = tensor};
    if (!entry.is_object()) {
      refuse(key, "an object");
    }
    if (entry.contains("name")) {
      if (!entry.at("name").is_string()) {
        refuse(key + "/name", "a text");
      }
      place.name = entry.at("name").get<std::string>();
    }
    if (entry.contains("layout")) {
      if (!entry.at("layout").is_array() || entry.at("layout").size() > kMostAxes) {
        refuse(key + "/layout", "a list of axes");
      }
      for (const Json& axis : entry.at("layout")) {
        place.layout.push_back(small_number(axis, key + "/layout", -1, kMostAxes));
      }
    }
    found.emplace(tensor, std::move(place));
  }
  return found;
}

std::map<std::string, int> groups_in(const Json& record) {
  std::map<std::string, int> found;
  const Json groups = object_in(record, kGroups);
  for (const auto& [op, number] : groups.items()) {
    found.emplace(op, small_number(number, std::string(kGroups) + "/" + op, 0, kMostGroups));
  }
  return found;
}

}  // namespace halfstep::qnn
