#include "halfstep/core/fixed_ranges.h"

#include <cmath>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr const char* kClip = "Clip";

std::optional<double> read_bound(const Json& bound) {
  return bound.is_null() ? std::nullopt : std::optional(bound.get<double>());
}

bool is_range(const Json& value) {
  if (!value.is_array() || value.size() != 2 || (value[0].is_null() && value[1].is_null())) {
    return false;
  }
  const auto fits = [](const Json& bound, double sign) {
    return bound.is_null() || (bound.is_number() && std::isfinite(bound.get<double>()) &&
                               bound.get<double>() * sign >= 0);
  };
  return fits(value[0], -1) && fits(value[1], 1);
}

}  // namespace

FixedRanges bounded_functions() {
  const FixedRange unit{.low = 0, .high = 1};
  return {.ops = {{"Sigmoid", unit},
                  {"HardSigmoid", unit},
                  {"Softmax", unit},
                  {"Tanh", {.low = -1, .high = 1}},
                  {"Relu", {.low = 0, .high = std::nullopt}}},
          .clip = true};
}

FixedRanges read_fixed_ranges(const JsonReader& reader, std::string_view key) {
  if (!reader.has(key)) {
    return {};
  }
  const Json& value = reader.value(key);
  if (value.is_boolean()) {
    return value.get<bool>() ? bounded_functions() : FixedRanges{};
  }
  if (!value.is_object()) {
    reader.fail(key,
                "true (for Sigmoid, HardSigmoid, Softmax, Tanh, Relu and Clip), false, or "
                "an object of operators and ranges");
  }
  FixedRanges ranges;
  for (const auto& [op, range] : value.items()) {
    if (op == kClip && range.is_boolean()) {
      ranges.clip = range.get<bool>();
    } else if (is_range(range)) {
      ranges.ops[op] = {.low = read_bound(range[0]), .high = read_bound(range[1])};
    } else {
      throw Error(ErrorKind::invalid_argument,
                  reader.where() + ": \"" + std::string(key) + "\": range of " + op +
                      ": expected [LOW, HIGH] with LOW <= 0 <= HIGH, or null for one of them" +
                      (op == kClip          ? ", or true"
                       : range.is_boolean() ? " (true is for Clip)"
                                            : "") +
                      ", found " + range.dump());
    }
  }
  return ranges;
}

Json to_json(const FixedRanges& ranges) {
  Json json = Json::object();
  const auto bound = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  for (const auto& [op, range] : ranges.ops) {
    json[op] = {bound(range.low), bound(range.high)};
  }
  if (ranges.clip) {
    json[kClip] = true;
  }
  return json;
}

}  // namespace halfstep
