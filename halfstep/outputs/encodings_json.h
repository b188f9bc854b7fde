#pragma once

#include <string>
#include <vector>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/encodings/schema/format.h"
#include "halfstep/model/graph_index.h"

namespace halfstep {

/// The encodings file, version 2.0.0: entries in graph order, shortest round-trip numbers, `axis`
/// not negative, y_zero_point only when not all zero, int32 biases included, no float16 / float32
/// entries. A use with an encoding of its own is the entry `<tensor>_<node>` behind its tensor's.
/// `graph` is the model without Q/DQ. Errors: unsupported naming the tensors that the version
/// cannot express; invalid_argument for a tensor or node that the graph does not have.
[[nodiscard]] std::string write_encodings(const EncodingTable& table, const GraphIndex& graph);
/// The same in another version; the older ones have float16 and float32 entries.
[[nodiscard]] std::string write_encodings(const EncodingTable& table, const GraphIndex& graph,
                                          EncodingsVersion version);

}  // namespace halfstep
