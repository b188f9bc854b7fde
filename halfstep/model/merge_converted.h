#pragma once

#include <onnx/onnx_pb.h>

#include "halfstep/model/graph_index.h"

namespace halfstep {

/// Brings a graph to what ONNX's version converter made of it, and keeps everything that the
/// converter does not know or change: nodes that are the same stay as they are, changed ones keep
/// their metadata, and only tensors that are new are added. `before`: `graph` as the converter
/// reads and writes it without converting; `after`: converted. Errors: unsupported if an attribute
/// that a function takes from its caller would get lost.
void merge_converted(onnx::GraphProto& graph, const onnx::GraphProto& before,
                     const onnx::GraphProto& after, NameMaker& names);

}  // namespace halfstep
