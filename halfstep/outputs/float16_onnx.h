#pragma once

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"

namespace halfstep {

/// Makes a float32 model round what the table stores as float16: behind the producer of such a
/// tensor stand Cast to float16 and Cast to float32 (of a graph output `y` the producer's tensor
/// becomes `y_float`), a constant is stored as float16 behind a Cast. Operators still compute in
/// float32, so that every engine runs the model. Values outside float16 become infinite, as on the
/// chip. Tensors that are not float32 stay as they are. Names of the model's tensors stay.
/// Errors: invalid_argument for a tensor that the model does not have.
void write_float16(Model& model, const EncodingTable& table);

}  // namespace halfstep
