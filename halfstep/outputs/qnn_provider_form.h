#pragma once

#include <set>
#include <string>
#include <unordered_set>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// Turns constants of an adapted model into the form in which ONNX Runtime's QNN provider takes
/// them, with the same values: the constant gets the values that its encoding rounds to, and an
/// encoding that holds them.
///   integers beside float16 activations   float16: the provider reads a DequantizeLinear per
///                                         channel or block only in front of an integer operator
///   LPBQ weights but those that one       int8 per channel: code x block scale, exact
///   MatMul alone reads
///   grouped ConvTranspose below 8 bits    int8 with the same scales
/// Each is a note with a rule id "write/...". `table` is what will be written; names stay. Source:
/// measured with onnxruntime-qnn 2.7.0.
void shape_for_qnn_provider(Model& model, EncodingTable& table, Diagnostics& diagnostics);

/// Gives inner tensors of super groups a Q/DQ pair where the provider would refuse the model
/// without: behind an operator with weights per channel, in front of PRelu, LeakyRelu or HardSwish,
/// and of a Relu or Clip that the codes of the group's end do not imply. The pair covers the values
/// that the end of the group can show. The chip fuses the group and ignores it. Call after
/// shape_for_qnn_provider(). Returns the names of these tensors.
/// Source: measured with onnxruntime-qnn 2.7.0 and, for the fusion, on the emulator.
[[nodiscard]] std::set<std::string> pair_inner_tensors(const Model& model,
                                                       const std::unordered_set<std::string>& inner,
                                                       EncodingTable& table,
                                                       Diagnostics& diagnostics);

}  // namespace halfstep
