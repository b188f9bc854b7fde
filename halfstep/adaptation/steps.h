#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halfstep/targets/target.h"

namespace halfstep {

/// One step on the way from a model to what a target runs. `--skip NAME` leaves it out.
struct AdaptationStep {
  std::string_view name;
  std::string_view summary;
  std::string_view rule;    ///< of the diagnostics that tell what it did, by its beginning
  bool for_kernels = true;  ///< runs only for targets with tables of kernels
};

/// The steps that can be left out, in the order in which they run: what prepares the graph, then
/// the passes.
[[nodiscard]] std::vector<AdaptationStep> adaptation_steps();

/// Does `skip` name the step?
[[nodiscard]] bool is_skipped(const std::vector<std::string>& skip, std::string_view step);

/// Errors: invalid_argument for a name that is no step, with the closest one; and, if `target` (its
/// name, for the message) has no tables of kernels, for a step that does not run for it.
void require_steps(const std::vector<std::string>& skip, const Target& target);

}  // namespace halfstep
