#pragma once

#include <set>
#include <string>

#include "halfstep/engines/engine.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Computes weights that nodes of the main graph make out of constants alone (Mul of a weight and a
/// factor, Slice of a joint weight, ...): the engine runs these nodes once, their results become
/// initializers with the names they had. Only tensors that an operator takes as its weight; nothing
/// that is random, quantized already or has bodies. If the engine refuses, the model stays as it
/// is, with a note. Returns how many weights were made; each is a note in `diagnostics`.
/// `keep`: tensors with an encoding of their own; what is made out of one is not computed.
/// `operands`: also what other inputs of operators take, up to 1 MiB each (a bias, a mask).
int fold_computed_weights(Model& model, Engine& engine, int threads, Diagnostics& diagnostics,
                          const std::set<std::string>& keep = {}, bool operands = false);

}  // namespace halfstep
