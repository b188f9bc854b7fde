#include "halfstep/pipeline_prepare.h"

#include "halfstep/adaptation/prepare/fold_batch_norm.h"
#include "halfstep/adaptation/prepare/fold_bias.h"
#include "halfstep/adaptation/prepare/fold_constants.h"
#include "halfstep/adaptation/prepare/fold_shapes.h"
#include "halfstep/adaptation/prepare/fuse_patterns.h"
#include "halfstep/adaptation/prepare/hoist_weights.h"
#include "halfstep/adaptation/prepare/inline_functions.h"
#include "halfstep/adaptation/steps.h"
#include "halfstep/pipeline_fold.h"

namespace halfstep {
namespace {

constexpr int kMostRounds = 20;

/// Bias and batch normalization stand in any order behind an operator: until nothing changes.
void fold_affine(Model& model, const PrepareOptions& options, const std::set<std::string>& keep,
                 Diagnostics& diagnostics) {
  const bool biases = options.for_kernels && !is_skipped(options.skip, "fold-bias");
  const bool norms = !is_skipped(options.skip, "fold-batch-norm");
  bool changed = true;
  while (changed) {
    if (biases) {
      fold_bias(model, diagnostics, keep);
    }
    const int folded = norms ? fold_batch_norm(model, diagnostics, keep) : 0;
    changed = biases && folded > 0;
  }
}

std::set<std::string> patterns_left_out(const std::vector<std::string>& skip) {
  std::set<std::string> ops;
  for (const auto& [step, op] :
       {std::pair("fuse-gelu", "Gelu"), std::pair("fuse-hard-swish", "HardSwish"),
        std::pair("fuse-layer-norm", "LayerNormalization"),
        std::pair("fuse-rms-norm", "RMSNormalization")}) {
    if (is_skipped(skip, step)) {
      ops.insert(op);
    }
  }
  return ops;
}

}  // namespace

void prepare(Model& model, const PrepareOptions& options, Diagnostics& diagnostics) {
  static const std::set<std::string> kNothing;
  const std::set<std::string>& keep = options.keep == nullptr ? kNothing : *options.keep;
  const auto runs = [&options](const char* step) { return !is_skipped(options.skip, step); };
  if (runs("inline-functions")) {
    inline_functions(model, diagnostics);
  }
  if (runs("fold-constants")) {
    if (options.for_kernels) {
      fold_shapes(model, diagnostics);
    }
    fold_constants(model, diagnostics, keep);
  }
  if (runs("hoist-weights")) {
    hoist_weights(model, diagnostics);
  }
  if (runs("fold-constants") && options.engine != nullptr) {
    fold_computed_weights(model, *options.engine, options.threads, diagnostics, keep,
                          options.for_kernels);
    // A shape that was computed makes more shapes known.
    for (int round = 0; options.for_kernels && round < kMostRounds; ++round) {
      if (fold_shapes(model, diagnostics) == 0) {
        break;
      }
      fold_computed_weights(model, *options.engine, options.threads, diagnostics, keep, true);
    }
  }
  fold_affine(model, options, keep, diagnostics);
  if (options.for_kernels) {
    fuse_patterns(model, diagnostics, patterns_left_out(options.skip));
  }
}

}  // namespace halfstep
