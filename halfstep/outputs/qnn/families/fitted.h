#pragma once

#include <string>
#include <vector>

#include "halfstep/outputs/qnn/node_context.h"

namespace halfstep::qnn {

/// Values as a new constant of a type: float as they are, fixed point fitted to their range (uint8
/// asymmetric, other types symmetric).
[[nodiscard]] std::string fitted(const NodeContext& context, const std::string& base,
                                 const std::vector<float>& values, DataType type);

/// The values of a constant operand. Errors: unsupported if it is computed.
[[nodiscard]] std::vector<float> values_of(const NodeContext& context, int slot);

}  // namespace halfstep::qnn
