#pragma once

#include <set>
#include <string>

#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Computes float constants that stand behind Identity, Reshape, Flatten, Squeeze, Unsqueeze,
/// Transpose and Cast nodes (chains of them, also inside the bodies of If, Loop and Scan), so that
/// weights are where quantization looks for them. The result is an initializer with the name that
/// the last node of the chain wrote; nodes and constants that nobody reads any more go. Equal views
/// of one constant become one tensor. A view stays as it is if it is an output of its graph, or if
/// the constant is also a weight elsewhere and only Identity, Cast and Transpose are between (tied
/// weights stay tied). Returns how many nodes were folded; each constant that replaces some is a
/// note in `diagnostics`.
/// `keep`: tensors with an encoding of their own; what stands behind one is not computed.
int fold_constants(Model& model, Diagnostics& diagnostics, const std::set<std::string>& keep = {});

}  // namespace halfstep
