#pragma once

#include <string>
#include <unordered_set>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"
#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/targets/target.h"

namespace halfstep {

/// An adapted model in the operators of its target (see outputs/qnn/lower.h). `inner`: tensors
/// inside super groups. Errors: invalid_argument for a target without tables of kernels;
/// unsupported listing each node without a form.
[[nodiscard]] qnn::LoweredGraph target_graph(const Model& adapted, const EncodingTable& encodings,
                                             const std::unordered_set<std::string>& inner,
                                             const Target& target);

}  // namespace halfstep
