#pragma once

#include "halfstep/core/quantize.h"

namespace halfstep::internal {

/// qparams_of without what computing does not need: zero points that are all 0, or that the minval
/// formulation does not use. There may be a unit for every few values.
[[nodiscard]] QParams lean_qparams(const Ranges& ranges, const ResolvedSpec& spec,
                                   const UnitGrid& grid);

}  // namespace halfstep::internal
