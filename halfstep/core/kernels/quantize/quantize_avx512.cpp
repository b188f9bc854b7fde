#include "halfstep/core/kernels/quantize/quantize.h"
#include "halfstep/core/kernels/quantize/quantize_body.h"
#include "halfstep/core/kernels/simd/avx512.h"

namespace halfstep::kernels {

const QuantizeKernels kQuantizeAvx512 = {Isa::avx512, quantize_runs<Avx512>,
                                         quantize_columns<Avx512>, dequantize_runs<Avx512>,
                                         dequantize_columns<Avx512>};

}  // namespace halfstep::kernels
