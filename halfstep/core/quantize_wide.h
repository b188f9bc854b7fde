#pragma once

#include <cstddef>

#include "halfstep/core/quantize.h"

namespace halfstep::internal {

/// quantize, dequantize (x null) and fake_quantize one value at a time in float64: for float64 data
/// and for codes of 32 bits. x, y and codes are row-major; codes and y may be null.
template <typename T>
void quantize_wide(const T* x, const Mapping& mapping, std::byte* codes, T* y);

}  // namespace halfstep::internal
