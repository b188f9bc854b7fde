#pragma once

#include "halfstep/engines/engine.h"

namespace halfstep {

/// The same values in another type, without loss of meaning: to a float type they are rounded to
/// nearest even; to an integer or boolean type they must be whole numbers inside its range. Errors:
/// invalid_file naming the first value that does not fit; unsupported for types other than float16,
/// bfloat16, float32, float64, 8 to 64-bit integers and booleans.
[[nodiscard]] Tensor cast_tensor(const Tensor& tensor, Dtype to);

/// Position of the first NaN (row-major), -1 if there is none or the type has no NaN.
[[nodiscard]] std::int64_t find_nan(const Tensor& tensor);

}  // namespace halfstep
