#pragma once

#include <optional>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "halfstep/engines/engine.h"

namespace halfstep::ort {

/// Type of an input or output; empty for sequences, strings, sub-byte and other types that a Tensor
/// can't hold as the engine does.
[[nodiscard]] std::optional<TensorInfo> tensor_info(std::string name, const Ort::TypeInfo& type);

/// Borrows the bytes of `tensor`.
[[nodiscard]] Ort::Value borrow(const Tensor& tensor);

/// Takes over a tensor that the engine made; its memory stays where it is.
[[nodiscard]] Tensor take(Ort::Value value);

/// The values of a float16, bfloat16, float64, integer or boolean tensor as float.
/// Errors: unsupported for a value that is not such a tensor.
[[nodiscard]] std::vector<float> to_floats(const Ort::Value& value);

}  // namespace halfstep::ort
