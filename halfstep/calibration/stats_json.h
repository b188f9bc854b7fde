#pragma once

#include <functional>

#include "halfstep/calibration/stats_file.h"
#include "halfstep/support/json.h"

namespace halfstep::internal {

/// Everything of statistics but the counts of their histograms.
[[nodiscard]] Json statistics_json(const StatisticsFile& statistics);
/// `counts` gives the next counts, as many as asked for. Errors: invalid_argument.
[[nodiscard]] StatisticsFile read_statistics_json(
    const Json& json, const std::function<std::vector<std::uint64_t>(std::size_t count)>& counts);

}  // namespace halfstep::internal
