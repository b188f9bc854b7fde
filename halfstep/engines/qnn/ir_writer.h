#pragma once

#include <filesystem>

#include "halfstep/engines/qnn/graph.h"

namespace halfstep::qnn {

/// Writes `graph` as a DLC through libQnnIr. Only in the worker process. What is written is not
/// final yet: see finish_dlc.
/// Errors: unsupported naming the tensor or operator that the library refused, io.
void write_ir(const std::filesystem::path& library, const Graph& graph,
              const std::filesystem::path& file);

}  // namespace halfstep::qnn
