#include "halfstep/core/kernels/minifloat/minifloat.h"
#include "halfstep/core/kernels/minifloat/minifloat_body.h"
#include "halfstep/core/kernels/simd/avx2.h"

namespace halfstep::kernels {

const MinifloatKernels kMinifloatAvx2 = {Isa::avx2, minifloat_runs<Avx2>, minifloat_columns<Avx2>,
                                         minifloat_decode_runs<Avx2>,
                                         minifloat_decode_columns<Avx2>};

}  // namespace halfstep::kernels
