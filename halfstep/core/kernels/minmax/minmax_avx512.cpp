#include "halfstep/core/kernels/minmax/minmax.h"
#include "halfstep/core/kernels/minmax/minmax_body.h"
#include "halfstep/core/kernels/simd/avx512.h"

namespace halfstep::kernels {

const MinMaxKernels kMinMaxAvx512 = {Isa::avx512, minmax_runs<Avx512>, minmax_columns<Avx512>};

}  // namespace halfstep::kernels
