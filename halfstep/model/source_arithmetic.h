#pragma once

#include <cstddef>
#include <string_view>

#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"

namespace halfstep {

/// Takes out the nodes that only make ONNX round as the model's source does (kArithmeticKey): what
/// a target computes has its own rounding. A "result" gives its name to the value that it rounds,
/// readers of an "operand" read what it is made of, an "aside" goes. Returns how many there were.
std::size_t remove_source_arithmetic(Model& model);

[[nodiscard]] bool is_source_arithmetic(const onnx::NodeProto& node);
/// Is the tensor there for the sake of such nodes only?
[[nodiscard]] bool is_source_arithmetic(const GraphIndex& graph, std::string_view tensor);

}  // namespace halfstep
