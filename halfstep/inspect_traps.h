#pragma once

#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Adds a warning or note for everything in a model that often spoils quantization.
void find_traps(const Model& model, const GraphIndex& graph, Diagnostics& diagnostics);

}  // namespace halfstep
