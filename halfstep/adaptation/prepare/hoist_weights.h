#pragma once

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Moves the float weights of operators inside the bodies of If, Loop, Scan, ... to the main graph,
/// where they can be stored as integers: a body reads tensors of the graphs around it as its own.
/// Nodes of the body that compute such a weight from constants alone move with it.
/// They keep their names unless another tensor of the model has the same. A constant that is an
/// output of its body stays. Returns how many were moved; each is a note in `diagnostics`.
int hoist_weights(Model& model, Diagnostics& diagnostics);

}  // namespace halfstep
