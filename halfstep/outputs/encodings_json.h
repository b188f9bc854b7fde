#pragma once

#include <string>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_index.h"

namespace halfstep {

/// The encodings file, version 2.0.0: entries in graph order, shortest round-trip numbers, `axis` not
/// negative, y_zero_point only when not all zero, int32 biases included, no float16 / float32 entries.
/// Errors: unsupported naming the tensors that the version cannot express.
[[nodiscard]] std::string write_encodings(const EncodingTable& table, const GraphIndex& graph);

}  // namespace halfstep
