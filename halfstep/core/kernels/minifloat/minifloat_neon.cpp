#include "halfstep/core/kernels/minifloat/minifloat.h"
#include "halfstep/core/kernels/minifloat/minifloat_body.h"
#include "halfstep/core/kernels/simd/neon.h"

namespace halfstep::kernels {

const MinifloatKernels kMinifloatNeon = {Isa::neon, minifloat_runs<Neon>, minifloat_columns<Neon>,
                                         minifloat_decode_runs<Neon>,
                                         minifloat_decode_columns<Neon>};

}  // namespace halfstep::kernels
