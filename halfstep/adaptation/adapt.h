#pragma once

#include <string>
#include <unordered_set>

#include "halfstep/adaptation/state.h"
#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/targets/target.h"

namespace halfstep {

struct AdaptResult {
  EncodingTable encodings{};  ///< of every tensor of the adapted model that holds numbers
  AdaptTotals totals{};
  /// Tensors inside super groups, which have no encoding.
  std::unordered_set<std::string> inner{};
};

/// Makes a model with encodings run on a target: the passes of adaptation_passes(), in their order,
/// then the Converts and constants are written into `model`. Names of the model's own tensors and
/// nodes stay; Converts are Identity nodes with the metadata halfstep.op = Convert, between tensors
/// of different encodings. Adapting the result again changes nothing. A target without tables of
/// kernels takes everything as given. Every decision is a diagnostic.
/// Errors: unsupported listing the nodes and tensors that the target can't run, each with its rule;
/// invalid_argument for a name in `skip` that is no step.
/// Source: QAIRT quantization specification, "Target specific processing".
[[nodiscard]] AdaptResult adapt(Model& model, EncodingTable requested, const Target& target,
                                const AdaptOptions& options, Diagnostics& diagnostics);

}  // namespace halfstep
