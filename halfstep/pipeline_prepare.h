#pragma once

#include <set>
#include <string>
#include <vector>

#include "halfstep/engines/engine.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

struct PrepareOptions {
  const std::set<std::string>* keep = nullptr;  ///< tensors with an encoding of their own, or null
  Engine* engine = nullptr;  ///< null: weights that only an engine can compute stay computed
  int threads = 1;
  bool for_kernels = false;         ///< also the steps for targets with tables of kernels
  std::vector<std::string> skip{};  ///< names of adaptation_steps() to leave out
};

/// What happens to every model before it is planned: constants computed, operators folded and
/// fused. Each change is a note in `diagnostics`, rule prepare/...; names of tensors that stay do
/// not change. Errors: those of the steps.
void prepare(Model& model, const PrepareOptions& options, Diagnostics& diagnostics);

}  // namespace halfstep
