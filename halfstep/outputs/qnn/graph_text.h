#pragma once

#include <string>
#include <string_view>

#include "halfstep/engines/qnn/graph.h"
#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/support/json.h"

namespace halfstep::qnn {

/// "ufixed8", "float16"
[[nodiscard]] std::string_view name(DataType type) noexcept;

/// A graph in lines to read and to compare, operators first, then tensors:
///     Conv2d conv (x_nhwc, w, b) -> (y) stride=[1, 1] pad_amount=[0, 0, 1, 1] group #0
///     w constant sfixed8 [3, 3, 8, 16] axis 3, 16 scales 0.01..0.02, 4 bits
/// "#0" is the super group; values of constants are not printed.
[[nodiscard]] std::string graph_text(const LoweredGraph& lowered);

/// The same as a document: {"operators": [...], "tensors": [...]}.
[[nodiscard]] Json graph_json(const LoweredGraph& lowered);

}  // namespace halfstep::qnn
