#pragma once

#include "halfstep/model/model.h"

namespace halfstep {

/// Computes what follows from known extents alone, and puts it in place of the nodes that compute
/// it: Shape and Size of tensors of known extents, and the arithmetic behind them (Gather, Concat,
/// Slice, Reshape, Unsqueeze, Squeeze, Cast, Add, Sub, Mul, Div, Min, Max, comparisons, Where,
/// ConstantOfShape, Range, Expand, ...) on lists of at most 4096 numbers. Such nodes tell the
/// extents of others, so it goes on in rounds. Names stay. Returns how many nodes went.
int fold_extents(Model& model);

}  // namespace halfstep
