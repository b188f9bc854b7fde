#pragma once

#include <map>
#include <string>

#include "halfstep/frontends/tflite/builder.h"

namespace halfstep::tflite {

/// Gives inputs other extents than the file was converted with. Those of all other tensors follow
/// from the operators (Builder::run). Errors: invalid_argument for a name that is no input, or
/// another number of axes.
void resize_inputs(File& file, const std::map<std::string, Shape>& extents);

/// Result 0 of an operator that is told its extents in the file (RESHAPE and its like): `result`
/// gets those that follow from operands and constants, or none that are known. Other operators:
/// nothing, ONNX's inference finds them. Errors: invalid_argument if the operator can't be
/// computed.
void resize_result(const Builder& b, const Operator& op, Tensor& result);

}  // namespace halfstep::tflite
