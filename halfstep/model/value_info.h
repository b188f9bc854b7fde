#pragma once

#include <set>
#include <string>

#include <onnx/onnx_pb.h>

namespace halfstep {

/// Removes what value_info says about these tensors: they have another type or shape now, and shape
/// inference refuses a model that contradicts itself.
void forget_types(onnx::GraphProto& graph, const std::set<std::string>& tensors);

}  // namespace halfstep
