#include "halfstep/core/kernels/quantize/quantize.h"
#include "halfstep/core/kernels/quantize/quantize_body.h"
#include "halfstep/core/kernels/simd/neon.h"

namespace halfstep::kernels {

const QuantizeKernels kQuantizeNeon = {Isa::neon, quantize_runs<Neon>, quantize_columns<Neon>,
                                       dequantize_runs<Neon>, dequantize_columns<Neon>};

}  // namespace halfstep::kernels
