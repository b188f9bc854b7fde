#pragma once

#include <filesystem>

#include "halfstep/engines/ort/session.h"

namespace halfstep::ort {

/// Writes the model below `folder` so that it runs with its watched tensors within reach. Three
/// ways:
///
/// * nothing to watch: the model as it is.
/// * without optimizations: watch ops behind the tensors of the model itself.
/// * with optimizations: watch ops would keep the engine from fusing around them, and every watched
/// tensor
///   as a graph output costs a copy (and in blocked layout a reordering) each. So the engine first
///   writes its optimized graph with the tensors as outputs; watch ops go into that graph, which
///   then runs as it is. What is seen is bit-equal to the outputs.
///
/// Errors: invalid_argument for a name that is no tensor of the main graph; io; unsupported.
[[nodiscard]] Prepared prepare(Runtime& runtime, const Model& model, const SessionOptions& options,
                               const std::filesystem::path& folder);

/// Every watched tensor as a graph output: slower, and works where the above does not.
[[nodiscard]] Prepared prepare_with_outputs(const Model& model, const SessionOptions& options,
                                            const std::filesystem::path& folder);

}  // namespace halfstep::ort
