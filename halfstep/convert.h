#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/engines/engine.h"
#include "halfstep/model/model.h"
#include "halfstep/pipeline.h"
#include "halfstep/support/progress.h"
#include "halfstep/targets/backend.h"

namespace halfstep {

/// What `halfstep convert` is asked to do.
struct ConvertRequest {
  std::filesystem::path quantization_overrides{};  ///< empty: only what the model says
  TargetChoice target{};
  /// A name that ends in .dlc: a DLC; empty: the result stays in memory.
  std::filesystem::path output{};
  std::filesystem::path encodings_out{};  ///< empty: none
  bool fallback = false;                  ///< AdaptOptions::fallback
  std::vector<std::string> skip{};        ///< names of adaptation_steps() to leave out
  int threads = 1;
  bool dry_run = false;  ///< decide everything, write nothing
  bool strict = false;   ///< warnings are errors
  bool lenient = false;  ///< names in the overrides that the model lacks are warnings
  bool force = false;    ///< overwrite existing outputs
  TargetOutput graph{};  ///< the result in the target's own operators
};

/// Takes what is known of a model (its own Q/DQ, and a file that wins over it), makes it run on a
/// target, writes it: quantize() without recipe and samples. summary.remark says what was chosen.
/// Errors: those of choose_target() and quantize().
/// `engine` computes what is constant; null: such nodes stay.
[[nodiscard]] QuantizeResult convert(Model model, Engine* engine, const ConvertRequest& request,
                                     Progress& progress);

}  // namespace halfstep
