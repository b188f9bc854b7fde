#pragma once

#include <cstddef>
#include <vector>

#include "halfstep/encodings/encoding.h"

namespace halfstep {

/// The stored codes of a constant: of stored_encoding(encoding), one code a value, in
/// storage_size() bytes each, row-major. 32-bit codes (biases) are those that QuantizeLinear
/// defines: the quotient is a float32; beyond 2^24 steps it is coarser than the code, as the
/// float32 value itself is.
/// Errors: invalid_argument if the encoding does not fit the shape.
[[nodiscard]] std::vector<std::byte> constant_codes(std::vector<float> values,
                                                    const Encoding& encoding, const Shape& shape,
                                                    int threads = 1);

}  // namespace halfstep
