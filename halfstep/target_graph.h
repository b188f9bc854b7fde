#pragma once

#include <map>
#include <string>
#include <unordered_set>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"
#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/targets/target.h"

namespace halfstep {

/// Gives inputs of the model the extents of `given`; a first extent that is then still unknown (the
/// batch) becomes 1, which is a note. Other unknown extents stay.
/// Errors: invalid_argument for a name that is no input, another number of extents, an extent that
/// contradicts a known one or is below 1.
void fix_input_extents(Model& model, const std::map<std::string, Shape>& given,
                       Diagnostics& diagnostics);

/// An adapted model in the operators of its target (see outputs/qnn/lower.h). `inner`: tensors
/// inside super groups; `block_scales`: see LowerRequest. Errors: invalid_argument for a target
/// without tables of kernels; unsupported listing each node without a form.
[[nodiscard]] qnn::LoweredGraph target_graph(const Model& adapted, const EncodingTable& encodings,
                                             const std::unordered_set<std::string>& inner,
                                             const Target& target, bool block_scales = true);

}  // namespace halfstep
