#pragma once

#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Traps that lie in operators and in the structure around them: bodies, functions, element types,
/// quantized parts, masks, batch normalization, recurrence. One diagnostic for each kind.
void find_operator_traps(const Model& model, const GraphIndex& graph, Diagnostics& diagnostics);

}  // namespace halfstep
