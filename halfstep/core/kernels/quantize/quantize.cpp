#include "halfstep/core/kernels/quantize/quantize.h"

#include "halfstep/core/kernels/quantize/quantize_body.h"

namespace halfstep::kernels {

const QuantizeKernels kQuantizeReference = {Isa::reference, quantize_runs<Scalar>,
                                            quantize_columns<Scalar>, dequantize_runs<Scalar>,
                                            dequantize_columns<Scalar>};

const QuantizeKernels& quantize_kernels() noexcept {
  switch (active_isa()) {
#if defined(__x86_64__)
    case Isa::avx512:
      return kQuantizeAvx512;
    case Isa::avx2:
      return kQuantizeAvx2;
#elif defined(__aarch64__)
    case Isa::neon:
      return kQuantizeNeon;
#endif
    default:
      return kQuantizeReference;
  }
}

}  // namespace halfstep::kernels
