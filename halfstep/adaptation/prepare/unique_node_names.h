#pragma once

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Engines refuse a graph in which two nodes bear one name. The first bearer keeps it, the others
/// get a number behind it; nodes without a name stay so. Each new name is a note in `diagnostics`.
/// Tensor names do not change.
void make_node_names_unique(Model& model, Diagnostics& diagnostics);

}  // namespace halfstep
