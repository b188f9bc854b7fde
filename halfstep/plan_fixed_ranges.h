#pragma once

#include <string>

#include "halfstep/core/fixed_ranges.h"
#include "halfstep/core/spec.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"

namespace halfstep {

/// Errors: invalid_argument for an operator that ONNX does not have, with the closest one.
void require_operators(const FixedRanges& ranges);

/// Sets float_range of the spec of activation `tensor` where `wanted` has a range for the operator
/// that computes it, and the spec has none of its own. A range that leaves out 0 is widened to it.
void fix_range(QuantizationSpec& spec, const std::string& tensor, const FixedRanges& wanted,
               const Model& model, const GraphIndex& graph);

}  // namespace halfstep
