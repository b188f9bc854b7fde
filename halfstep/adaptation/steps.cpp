#include "halfstep/adaptation/steps.h"

#include <algorithm>
#include <array>

#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::array<AdaptationStep, 10> kPrepare = {{
    {.name = "inline-functions",
     .summary = "local functions with weights are written out at every call",
     .rule = "prepare/inline-function",
     .for_kernels = false},
    {.name = "fold-constants",
     .summary = "what nodes compute from constants alone is computed once",
     .rule = "prepare/fold-constant",
     .for_kernels = false},
    {.name = "hoist-weights",
     .summary = "weights inside bodies of If, Loop and Scan move to the main graph",
     .rule = "prepare/hoist-weight",
     .for_kernels = false},
    {.name = "fold-bias",
     .summary = "an Add of a constant per channel becomes the bias of the operator before it",
     .rule = "prepare/fold-bias"},
    {.name = "fold-batch-norm",
     .summary = "batch normalization becomes part of the convolution before it",
     .rule = "prepare/fold-batch-norm",
     .for_kernels = false},
    {.name = "fuse-gelu",
     .summary = "pieces that compute Gelu become one operator",
     .rule = "prepare/fuse-pattern"},
    {.name = "fuse-hard-swish",
     .summary = "pieces that compute HardSwish become one operator",
     .rule = "prepare/fuse-pattern"},
    {.name = "fuse-layer-norm",
     .summary = "pieces that compute LayerNormalization become one operator",
     .rule = "prepare/fuse-pattern"},
    {.name = "fuse-rms-norm",
     .summary = "pieces that compute RMSNormalization become one operator",
     .rule = "prepare/fuse-pattern"},
    {.name = "movement-groups",
     .summary = "nodes that together only move data run as one operator",
     .rule = "adapt/movement-group"},
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
