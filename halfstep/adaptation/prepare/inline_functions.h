#pragma once

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Puts the bodies of local functions in the place of their calls where they hold operators with
/// weights, called functions included: inside a function neither weights nor activations can have
/// encodings. Functions without such operators stay. Names of tensors of the main graph do not
/// change; those of a body get fresh names. Returns how many functions were inlined; each is a note
/// in `diagnostics`.
int inline_functions(Model& model, Diagnostics& diagnostics);

}  // namespace halfstep
