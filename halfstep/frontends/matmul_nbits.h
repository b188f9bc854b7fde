#pragma once

#include <string>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"

namespace halfstep {

[[nodiscard]] bool is_matmul_nbits(const onnx::NodeProto& node);

/// Replaces node `i`, a MatMulNBits of com.microsoft, by MatMul (and Add for its bias) with a float
/// weight [K, N] and the weight's per-block encoding along axis 0, whose codes are those of the
/// node: value = (q - zero point) * scale, zero point 2^(bits-1) if there is none. Returns why it
/// can't be done; empty if it was. Source: ONNX Runtime, contrib operator MatMulNBits.
[[nodiscard]] std::string spell_matmul_nbits(const Model& model, const GraphIndex& index, int i,
                                             GraphEditor& editor, NameMaker& names,
                                             EncodingTable& table);

}  // namespace halfstep
