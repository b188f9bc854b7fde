#pragma once

#include "halfstep/model/model.h"

namespace halfstep {

/// Does the model hold or declare tensors of float16, bfloat16 or float64?
[[nodiscard]] bool has_other_floats(const Model& model);

/// The same model with float32 in the place of float16, bfloat16 and float64: constants, declared
/// types of inputs, outputs and tensors, the types that Cast and others are told to make; in bodies
/// and functions, too. What an engine can run that has no kernels for those types.
[[nodiscard]] Model widened(const Model& model);

}  // namespace halfstep
