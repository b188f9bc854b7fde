#pragma once

#include <string>
#include <vector>

#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/engines/qnn/graph.h"

namespace halfstep::qnn::dlc {

/// What in a DLC is not what `meant` says, a line each: tensors (kind, type, shape, every number of
/// their encodings, data), operators (order, name, type, operands) and their params. Operators
/// whose type the IR library changes ("Relu" becomes "Neuron" with operation 4) are recognized;
/// their other params are not compared. What the library adds is no difference. Empty: all is as
/// meant.
[[nodiscard]] std::vector<std::string> compare(const Graph& meant, const Contents& contents);

}  // namespace halfstep::qnn::dlc
