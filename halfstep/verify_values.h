#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halfstep/engines/engine.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/engines/qnn/values.h"
#include "halfstep/outputs/qnn/layout.h"
#include "halfstep/support/tensor_view.h"

/// Between the values of a model and what a target holds of them.
namespace halfstep {

/// Units of x per step: the scale of a tensor with one; 0 for floats, integers and scales per
/// channel.
[[nodiscard]] float step_of(const qnn::Tensor& tensor) noexcept;

/// What the stored bytes stand for: value = scale * (code + offset) in float32, as DequantizeLinear
/// computes it. `bytes`: of as many values as the tensor has.
/// Errors: unsupported for scales per channel or block; invalid_argument for a wrong size.
[[nodiscard]] std::vector<float> decoded(const qnn::Tensor& tensor,
                                         std::span<const std::byte> bytes);

/// A model's input as the graph wants it: code = clamp(round_half_even(x / scale) - offset), floats
/// rounded to nearest, integers as they are.
/// Errors: invalid_file naming the input if the number of values differs or an integer does not
/// fit; unsupported for other types than decoded() knows.
[[nodiscard]] qnn::Value encoded(const qnn::Tensor& tensor, const Tensor& sample);

/// Values stored in `layout` with the extents `stored`, in the model's order of axes.
/// Errors: invalid_argument if the layout does not fit the extents.
[[nodiscard]] std::vector<float> in_model_order(std::span<const float> values, const Shape& stored,
                                                const qnn::Layout& layout);

/// Extents of the tensor in the model's order of axes.
[[nodiscard]] Shape model_shape(const Shape& stored, const qnn::Layout& layout);

[[nodiscard]] Shape stored_extents(const qnn::Tensor& tensor);

}  // namespace halfstep
