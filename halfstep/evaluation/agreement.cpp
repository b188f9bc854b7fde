#include "halfstep/evaluation/agreement.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

#include "halfstep/support/error.h"
#include "halfstep/support/json.h"

namespace halfstep {
namespace {

constexpr std::uint64_t kMostSteps = std::numeric_limits<std::uint32_t>::max();

std::uint64_t steps_between(double difference, double scale) {
  const double steps = std::nearbyint(std::abs(difference) / scale);
  return steps < static_cast<double>(kMostSteps) ? static_cast<std::uint64_t>(steps) : kMostSteps;
}

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorKind::invalid_argument,
              "the bound '" + std::string(text) +
                  "': expected decibels, such as 30dB, or a whole number of steps, such as 2steps");
}

}  // namespace

void Agreement::add(std::span<const float> reference, std::span<const float> actual, float scale) {
  require(reference.size() == actual.size(), "the two runs have " +
                                                 std::to_string(reference.size()) + " and " +
                                                 std::to_string(actual.size()) + " values");
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const auto expected = static_cast<double>(reference[i]);
    if (!std::isfinite(expected)) {
      continue;
    }
    const double difference = static_cast<double>(actual[i]) - expected;
    ++power.values;
    power.signal += expected * expected;
    power.error +=
        std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference * difference;
    if (scale > 0) {
      const std::uint64_t steps = steps_between(difference, static_cast<double>(scale));
      max_steps = std::max(max_steps, steps);
      ++codes;
      equal += steps == 0 ? 1 : 0;
    }
  }
}

std::optional<double> Agreement::equal_share() const noexcept {
  if (codes == 0) {
    return std::nullopt;
  }
  return static_cast<double>(equal) / static_cast<double>(codes);
}

bool AgreementBound::broken_by(const Agreement& agreement) const noexcept {
  if (max_steps && agreement.codes > 0) {
    return agreement.max_steps >= *max_steps;
  }
  return agreement.power.values > 0 && agreement.power.sqnr_db() < sqnr_db;
}

std::string AgreementBound::text() const {
  if (max_steps) {
    return std::to_string(*max_steps) + (*max_steps == 1 ? " step" : " steps") + " or more";
  }
  return "SQNR below " + Json(sqnr_db).dump() + " dB";
}

AgreementBound parse_agreement_bound(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (error != std::errc() || !std::isfinite(number)) {
    refuse(text);
  }
  if (unit == "step" || unit == "steps") {
    if (number < 1 || number > static_cast<double>(kMostSteps) || number != std::floor(number)) {
      refuse(text);
    }
    return {.max_steps = static_cast<std::uint64_t>(number)};
  }
  if (!unit.empty() && unit != "dB" && unit != "db") {
    refuse(text);
  }
  return {.sqnr_db = number};
}

}  // namespace halfstep
