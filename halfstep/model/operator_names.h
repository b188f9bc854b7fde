#pragma once

#include <string>

namespace halfstep {

/// Errors: invalid_argument, after `where`, for an operator that ONNX does not have, with the
/// closest one.
void require_onnx_operator(const std::string& op_type, const std::string& where);

}  // namespace halfstep
