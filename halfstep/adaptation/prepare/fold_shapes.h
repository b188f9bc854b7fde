#pragma once

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Replaces Shape and Size nodes that read a tensor of known extents by constants (int64), so that
/// what is computed from them can be computed beforehand. For targets whose graphs have fixed
/// shapes. Each is a note "prepare/fold-shape". Graph outputs stay computed. Returns how many.
int fold_shapes(Model& model, Diagnostics& diagnostics);

}  // namespace halfstep
