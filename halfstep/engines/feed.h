#pragma once

#include <optional>
#include <span>
#include <string>

#include "halfstep/engines/engine.h"

namespace halfstep {

/// What keeps `tensor` from being fed to `input`: its type, rank or extents. Empty if nothing does.
/// Example: `input "x" is float64 [3, 8], the model wants float32 [1, 3, ?, ?]`
[[nodiscard]] std::optional<std::string> feed_problem(const TensorInfo& input,
                                                      const Tensor& tensor);

/// Errors: invalid_file if an input is missing in the sample, unknown to the model (naming the
/// closest one) or does not fit.
void check_feed(const Sample& sample, std::span<const TensorInfo> inputs);

/// "float32 [1, 3, ?, ?]"
[[nodiscard]] std::string type_text(Dtype dtype, const Shape& shape);

}  // namespace halfstep
