#pragma once

#include "halfstep/core/quantize.h"

namespace halfstep::internal {

/// Low-power blockwise parameters: a float scale for each channel and an integer for each block.
/// Errors: invalid_argument if the channel axis is outside the tensor or is the block axis.
[[nodiscard]] QParams lpbq_qparams(const Ranges& ranges, const ResolvedSpec& spec,
                                   const UnitGrid& grid);

}  // namespace halfstep::internal
