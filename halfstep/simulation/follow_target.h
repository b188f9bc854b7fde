#pragma once

#include <cstddef>

#include "halfstep/model/model.h"

namespace halfstep::simulation {

/// Makes a Q/DQ model compute as the target's integer arithmetic does, where that is known, by
/// inserting operators of the domain halfstep.target (see target_ops.h). Names of tensors stay:
/// what had a name has it still, with the values of the target.
///
/// Conv, ConvTranspose, Gemm, MatMul whose operands are 8-bit codes (weights may be narrower),
/// whose result (after a bias that is added, and an activation that is fused) becomes 8-bit codes:
/// Requantizer; a Q/DQ pair between the result and an activation that the backend fuses regardless
/// has no effect, as on the chip. LayerNormalization, RMSNormalization of 8-bit codes: layer_norm,
/// rms_norm. Softmax, LogSoftmax of 8-bit codes: softmax, log_softmax. Add, Sub of unsigned 8-bit
/// codes: weighted_sum. x * Sigmoid(x) is one function without codes in between. Float16 values
/// through 8-bit codes are clamped, not rounded. AveragePool between equal encodings rounds halves
/// up. Everything else stays as it is: Q/DQ.
///
/// Returns how many operators follow the target now.
std::size_t follow_target(Model& model);

}  // namespace halfstep::simulation
