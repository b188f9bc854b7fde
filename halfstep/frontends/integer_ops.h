#pragma once

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Is this an operator on quantized values that spell_out_integer_ops rewrites, or says why not?
[[nodiscard]] bool is_integer_op(const onnx::NodeProto& node);

/// Rewrites operators on quantized values as the float operator between DequantizeLinear and
/// QuantizeLinear: QLinearConv and QLinearMatMul, and of com.microsoft QGemm, QLinearAdd,
/// QLinearMul, QLinearConcat, QLinearAveragePool, QLinearGlobalAveragePool, QLinearSigmoid,
/// QLinearLeakyRelu, QLinearSoftmax. What moves quantized values between them (MaxPool, Reshape,
/// Transpose, ...) moves float ones. MatMulNBits becomes a MatMul whose weight is a float constant;
/// its blocks are in the table that comes back. Results equal those of the operators to a step:
/// their kernels round a product of scales once, where the float operator rounds on the way.
///
/// What can't be rewritten stays, with the note "qdq/kept": scales that are computed, blocks that
/// do not divide, channels_last, and the operators without quantized output (MatMulInteger,
/// ConvInteger, DynamicQuantizeLinear), whose scales are known at run time only.
/// Source: ONNX operators; ONNX Runtime, contrib operators.
[[nodiscard]] EncodingTable spell_out_integer_ops(Model& model, Diagnostics& diagnostics);

}  // namespace halfstep
