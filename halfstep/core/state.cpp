#include "halfstep/core/state.h"

#include <cmath>
#include <limits>
#include <string>

#include "halfstep/support/error.h"

namespace halfstep::internal {
namespace {

[[noreturn]] void wrong(std::string_view key, const Json& found, std::string_view expected) {
  throw Error(ErrorKind::invalid_argument, "saved state: \"" + std::string(key) + "\" is " +
                                               found.dump() + "; expected " +
                                               std::string(expected));
}

double to_number(const Json& value, std::string_view key) {
  if (value.is_number()) {
    return value.get<double>();
  }
  if (value == "inf") {
    return std::numeric_limits<double>::infinity();
  }
  if (value == "-inf") {
    return -std::numeric_limits<double>::infinity();
  }
  if (value == "nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  wrong(key, value, "a number, \"inf\", \"-inf\" or \"nan\"");
}

}  // namespace

Json number_json(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  return value;
}

Json numbers_json(const std::vector<float>& values) {
  Json json = Json::array();
  for (const float value : values) {
    json.push_back(number_json(value));
  }
  return json;
}

const Json& read_member(const Json& state, std::string_view key) {
  if (!state.is_object() || !state.contains(key)) {
    throw Error(ErrorKind::invalid_argument,
                "saved state: no \"" + std::string(key) + "\" in " + state.dump().substr(0, 80) +
                    "; expected what state() of the same class returned");
  }
  return state[std::string(key)];
}

double read_number(const Json& state, std::string_view key) {
  return to_number(read_member(state, key), key);
}

std::vector<float> read_numbers(const Json& state, std::string_view key) {
  const Json& values = read_member(state, key);
  if (!values.is_array()) {
    wrong(key, values, "a list of numbers");
  }
  std::vector<float> numbers;
  for (const Json& value : values) {
    numbers.push_back(static_cast<float>(to_number(value, key)));
  }
  return numbers;
}

std::int64_t read_count(const Json& state, std::string_view key) {
  const Json& value = read_member(state, key);
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0) {
    wrong(key, value, "a whole number >= 0");
  }
  return value.get<std::int64_t>();
}

Json ranges_json(const Ranges& ranges) {
  return {{"min", numbers_json(ranges.min)},
          {"max", numbers_json(ranges.max)},
          {"nan_count", ranges.nan_count},
          {"infinity_count", ranges.infinity_count},
          {"dtype", name(ranges.dtype)}};
}

Ranges read_ranges(const Json& state) {
  const Json& dtype = read_member(state, "dtype");
  if (!dtype.is_string()) {
    wrong("dtype", dtype, "the name of a dtype");
  }
  Ranges ranges{.min = read_numbers(state, "min"),
                .max = read_numbers(state, "max"),
                .nan_count = read_count(state, "nan_count"),
                .infinity_count = read_count(state, "infinity_count"),
                .dtype = parse_dtype(dtype.get<std::string>())};
  if (ranges.min.size() != ranges.max.size()) {
    wrong("max", read_member(state, "max"), "as many numbers as \"min\" has");
  }
  return ranges;
}

}  // namespace halfstep::internal
