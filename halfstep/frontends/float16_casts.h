#pragma once

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"

namespace halfstep {

/// Takes out what write_float16() puts in, wherever it comes from: a Cast to float16 followed by
/// nothing but a Cast back becomes a float16 encoding of the tensor in front, a float16 constant
/// that only a Cast to float32 reads becomes a float32 constant with a float16 encoding. A tensor
/// that others read as it was before the Casts stays as it is. Of a graph output the producer's
/// tensor takes its name. Tensors that `table` knows keep what it says.
void extract_float16(Model& model, EncodingTable& table);

}  // namespace halfstep
