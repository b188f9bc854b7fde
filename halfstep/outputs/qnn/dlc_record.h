#pragma once

#include <map>
#include <string>

#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/support/json.h"

namespace halfstep::qnn {

/// What a lowered graph knows beyond QNN's words, for halfstep's own record in a DLC:
///   "super_groups": {"conv1": 0, "relu1": 0}, the number of the group by operator;
///   "places": {"x": {"name": "x_nhwc", "layout": [0, 2, 3, 1]}}, by tensor of the model: the
///   tensor of the graph and its layout (see Layout), each only where it says something.
[[nodiscard]] Json dlc_record(const LoweredGraph& lowered);

/// The places in a record, as dlc_record wrote them. Tensors that are not listed lie under their
/// own name in the model's order.
/// Errors: invalid_file naming the key.
[[nodiscard]] std::map<std::string, TensorPlace> places_in(const Json& record);

/// The number of the super group by operator. Errors: invalid_file naming the key.
[[nodiscard]] std::map<std::string, int> groups_in(const Json& record);

}  // namespace halfstep::qnn
