#pragma once

#include <set>
#include <string>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Folds every BatchNormalization (inference form, constant float parameters) into the Conv or
/// ConvTranspose before it, if that is the only reader: the folded weight is what gets quantized.
/// Formula: s = scale / sqrt(var + epsilon); W' = W * s per output channel; b' = (b - mean) * s +
/// B, in double. The result carries the BatchNormalization's output name; a weight that others also
/// read is copied. Returns how many were folded; each is a note in `diagnostics`.
/// `keep`: tensors with an encoding of their own; a fold that would change the values of one, or
/// take it away, is not made.
int fold_batch_norm(Model& model, Diagnostics& diagnostics, const std::set<std::string>& keep = {});

}  // namespace halfstep
