#pragma once

#include <set>
#include <string>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Makes an Add of one constant per output channel (or one for all) the bias of the Conv,
/// ConvTranspose or Gemm before it, which must have a constant weight; a bias that is already there
/// is added up: b' = b + a, of Gemm beta b + a, in double. The tensor between must have the Add as
/// its only reader, be no output of the graph, and not be in `keep`. Constants: of the weight's
/// type, extent 1 but at the channel, of no higher rank than the result. The result carries the
/// Add's output name; a constant that others also read is copied. A Gemm without C whose weight is
/// in `keep`, and a MatMul, stay: the pass super-groups makes them one unit with their Add where
/// the encoding of the weight allows it. Returns how many were folded; each is a note in
/// `diagnostics`.
/// `keep`: tensors with an encoding of their own: the tensor between and the constants count.
int fold_bias(Model& model, Diagnostics& diagnostics, const std::set<std::string>& keep = {});

}  // namespace halfstep
