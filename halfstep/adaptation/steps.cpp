#include "halfstep/adaptation/steps.h"

#include <algorithm>
#include <array>

#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::array<AdaptationStep, 10> kPrepare = {{
    {"inline-functions", "local functions with weights are written out at every call",
     "prepare/inline-function", false},
    {"fold-constants", "what nodes compute from constants alone is computed once",
     "prepare/fold-constant", false},
    {"hoist-weights", "weights inside bodies of If, Loop and Scan move to the main graph",
     "prepare/hoist-weight", false},
    {"fold-bias", "an Add of a constant per channel becomes the bias of the operator before it",
     "prepare/fold-bias"},
    {"fold-batch-norm", "batch normalization becomes part of the convolution before it",
     "prepare/fold-batch-norm", false},
    {"fuse-gelu", "pieces that compute Gelu become one operator", "prepare/fuse-pattern"},
    {"fuse-hard-swish", "pieces that compute HardSwish become one operator",
     "prepare/fuse-pattern"},
    {"fuse-layer-norm", "pieces that compute LayerNormalization become one operator",
     "prepare/fuse-pattern"},
    {"fuse-rms-norm", "pieces that compute RMSNormalization become one operator",
     "prepare/fuse-pattern"},
    {"movement-groups", "nodes that together only move data run as one operator",
     "adapt/movement-group"},
}};

}  // namespace

std::vector<AdaptationStep> adaptation_steps() {
  std::vector<AdaptationStep> steps(kPrepare.begin(), kPrepare.end());
  for (const AdaptationPass& pass : adaptation_passes()) {
    steps.push_back({.name = pass.name, .summary = pass.summary, .rule = "adapt/"});
  }
  return steps;
}

bool is_skipped(const std::vector<std::string>& skip, std::string_view step) {
  return std::find(skip.begin(), skip.end(), step) != skip.end();
}

void require_steps(const std::vector<std::string>& skip, const Target& target) {
  const std::vector<AdaptationStep> steps = adaptation_steps();
  std::vector<std::string> names;
  std::string list;
  for (const AdaptationStep& step : steps) {
    names.emplace_back(step.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  for (const std::string& name : skip) {
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [&name](const AdaptationStep& s) { return s.name == name; });
    if (step == steps.end()) {
      const std::string closest = closest_match(name, names);
      throw Error(
          ErrorKind::invalid_argument,
          "no step \"" + name + "\" to skip" +
              (closest.empty() ? "; known are " + list : "; did you mean \"" + closest + "\"?"));
    }
    require(!step->for_kernels || target.kernels() != nullptr,
            "step \"" + name + "\" does not run for target " + target.name() +
                ", which has no tables of kernels; leave --skip " + name + " out");
  }
}

}  // namespace halfstep
