#pragma once

#include <string>
#include <unordered_set>

#include "halfstep/model/model.h"

namespace halfstep {

/// For a writer that knows the operators of the domain qti_aisw: puts one of them in the place of
/// the nodes that MovementGroups tagged, where its channels are axis 1 of an image or, of the two
/// with blocks, last: then a Transpose stands on either side. Other groups stay as they are.
/// Tensors that come and lie inside a group are added to `inner`. Returns how many were replaced.
int put_movement_operators(Model& model, std::unordered_set<std::string>& inner);

}  // namespace halfstep
