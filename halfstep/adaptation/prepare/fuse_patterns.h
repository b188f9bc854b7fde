#pragma once

#include <set>
#include <string>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Puts one ONNX operator in the place of nodes that compute it piece by piece:
///   Gelu (opset 20)                x / sqrt(2), Erf, + 1, * x, * 0.5 in any order of the products
///   HardSwish (opset 14)           x * Clip(x + 3, 0, 6) / 6, or x * HardSigmoid(x)
///   LayerNormalization (opset 17)  (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias
///                                  over the last axis
///   RMSNormalization (opset 23)    x / sqrt(mean(x^2) + epsilon) * scale over the last axis
/// The result keeps the name of the last node's output; the inner tensors are gone, so a pattern
/// with an inner tensor that is read elsewhere, or is a graph output, stays as it is. The opset is
/// raised where an operator needs it. Targets run these operators as one, with better accuracy than
/// the pieces. `left_out` names operators that are not looked for. Returns how many were found;
/// each is a note in `diagnostics`.
int fuse_patterns(Model& model, Diagnostics& diagnostics,
                  const std::set<std::string>& left_out = {});

}  // namespace halfstep
