#pragma once

#include <string_view>

#include "halfstep/adaptation/state.h"

namespace halfstep {

/// What must hold after a pass of adaptation_passes(), whatever the model:
///   data-movement   all tensors of a chain that nobody gave an encoding carry the chain's
///   super-groups    an inner tensor has one reader, in its group, is no output, has no encoding
///   op-precision    every float tensor has a type: every operand and output of a node of a unit,
///                   but inner tensors and derived biases
///   converts        no Convert between equal encodings; every float activation has an encoding
///   static-tensors  every constant that a kernel reads as a number has an encoding
/// Linear in the size of the graph. Errors: internal, naming pass, node and tensor.
void verify_after(const AdaptationState& state, std::string_view pass);

}  // namespace halfstep
