#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "halfstep/evaluation/probe.h"
#include "halfstep/support/json.h"
#include "halfstep/verify.h"

namespace halfstep {
namespace {

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
  return {{"target", result.target},      {"source", result.source},
          {"engine", result.engine},      {"arithmetic", result.arithmetic},
          {"followed", result.followed},  {"samples", result.samples},
          {"bound", result.bound.text()}, {"first_departure", first},
          {"tensors", std::move(rows)}};
}

}  // namespace halfstep
