#include "halfstep/core/kernels/minmax/minmax.h"
#include "halfstep/core/kernels/minmax/minmax_body.h"
#include "halfstep/core/kernels/simd/avx2.h"

namespace halfstep::kernels {

const MinMaxKernels kMinMaxAvx2 = {Isa::avx2, minmax_runs<Avx2>, minmax_columns<Avx2>};

}  // namespace halfstep::kernels
