#pragma once

// Nodes and names that tools put around Q/DQ.
#include <string>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_index.h"

namespace halfstep {

/// Tools derive the names of integers and of what is read from that of the float tensor: "w" for
/// "w_quantized" and "w_DequantizeLinear_Output". Returns that name if no tensor has it, else
/// `read`. `table`: the names that are given away already.
[[nodiscard]] std::string own_name(const GraphIndex& index, const EncodingTable& table,
                                   const std::string& stored, const std::string& read);

/// The Reshape to the same shape that write_qdq puts behind a constant against the engine's
/// fusions; -1 if there is none behind `tensor`.
[[nodiscard]] int barrier_behind(const Model& model, const GraphIndex& index,
                                 const std::string& tensor, const Shape& shape);

/// The Cast to float16 that write_qdq puts behind a constant of a float16 model; -1 if none.
[[nodiscard]] int narrowing_behind(const GraphIndex& index, const std::string& tensor);

/// Is the reader a Cast to the element type `to`?
[[nodiscard]] bool is_cast(const GraphIndex& index, const Consumer& reader, int to);

}  // namespace halfstep
