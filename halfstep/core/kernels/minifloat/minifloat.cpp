#include "halfstep/core/kernels/minifloat/minifloat.h"

#include "halfstep/core/kernels/minifloat/minifloat_body.h"

namespace halfstep::kernels {

const MinifloatKernels kMinifloatReference = {
    Isa::reference, minifloat_runs<Scalar>, minifloat_columns<Scalar>,
    minifloat_decode_runs<Scalar>, minifloat_decode_columns<Scalar>};

const MinifloatKernels& minifloat_kernels() noexcept {
  switch (active_isa()) {
#if defined(__x86_64__)
    case Isa::avx512:
      return kMinifloatAvx512;
    case Isa::avx2:
      return kMinifloatAvx2;
#elif defined(__aarch64__)
    case Isa::neon:
      return kMinifloatNeon;
#endif
    default:
      return kMinifloatReference;
  }
}

}  // namespace halfstep::kernels
