#include "halfstep/core/kernels/quantize/quantize.h"
#include "halfstep/core/kernels/quantize/quantize_body.h"
#include "halfstep/core/kernels/simd/avx2.h"

namespace halfstep::kernels {

const QuantizeKernels kQuantizeAvx2 = {Isa::avx2, quantize_runs<Avx2>, quantize_columns<Avx2>,
                                       dequantize_runs<Avx2>, dequantize_columns<Avx2>};

}  // namespace halfstep::kernels
