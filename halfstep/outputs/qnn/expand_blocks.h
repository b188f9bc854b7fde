#pragma once

#include <cstddef>
#include <vector>

#include "halfstep/encodings/encoding.h"

namespace halfstep::qnn {

/// Does the backend compute wrong numbers with this LPBQ weight? Measured on v73 to v81: the summed
/// axis is longer than 32 and no multiple of 32, and there are more than 32 output channels.
[[nodiscard]] bool is_misread_in_blocks(const Encoding& encoding, const Shape& shape);

/// The same values without blocks: one scale a channel, codes times their block scales. 4-bit codes
/// times block scales of 1 to 16 fit into 8 bits, so nothing is rounded.
/// Shapes: `codes` one a byte, row-major in `shape`.
void expand_blocks(Encoding& encoding, std::vector<std::byte>& codes, const Shape& shape);

}  // namespace halfstep::qnn
