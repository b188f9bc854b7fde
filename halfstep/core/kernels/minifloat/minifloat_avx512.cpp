#include "halfstep/core/kernels/minifloat/minifloat.h"
#include "halfstep/core/kernels/minifloat/minifloat_body.h"
#include "halfstep/core/kernels/simd/avx512.h"

namespace halfstep::kernels {

const MinifloatKernels kMinifloatAvx512 = {Isa::avx512, minifloat_runs<Avx512>,
                                           minifloat_columns<Avx512>, minifloat_decode_runs<Avx512>,
                                           minifloat_decode_columns<Avx512>};

}  // namespace halfstep::kernels
