#include "halfstep/core/kernels/minmax/minmax.h"
#include "halfstep/core/kernels/minmax/minmax_body.h"
#include "halfstep/core/kernels/simd/neon.h"

namespace halfstep::kernels {

const MinMaxKernels kMinMaxNeon = {Isa::neon, minmax_runs<Neon>, minmax_columns<Neon>};

}  // namespace halfstep::kernels
