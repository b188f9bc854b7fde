#pragma once

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Has the main graph nodes that extract_qdq could take out?
[[nodiscard]] bool has_qdq(const Model& model);

/// Takes QuantizeLinear and DequantizeLinear out of a model (also those of com.microsoft) and gives
/// back what they said: constants stored as integers become float tensors with an encoding that
/// restores the same integers (where float32 can't, the table keeps them), pairs behind a tensor
/// become its encoding, or that of the single uses where its consumers differ. A constant gets the
/// name that its integers and its readers show ("w" of "w_quantized" and "w_dequantized"), else
/// that of the tensor that was read. Operators on
/// quantized values are spelled out first (integer_ops.h). The float tensor of a quantized
/// graph output takes the output's name. Writing the result with write_qdq computes the same. What
/// can't be said by an encoding stays in the graph, each with the note "qdq/kept": integers at
/// graph inputs and outputs, scales that are computed or neither float32 nor float16, integer
/// operators in between. Source: QAIRT quantization specification, appendix B.
[[nodiscard]] EncodingTable extract_qdq(Model& model, Diagnostics& diagnostics);

}  // namespace halfstep
