#include "halfstep/core/kernels/histogram/histogram.h"

#include "halfstep/core/kernels/histogram/histogram_body.h"

namespace halfstep::kernels {

const HistogramKernels kHistogramReference = {Isa::reference, count_values};

const HistogramKernels& histogram_kernels() noexcept {
  switch (active_isa()) {
#if defined(__x86_64__)
    case Isa::avx512:
      return kHistogramAvx512;
    case Isa::avx2:
      return kHistogramAvx2;
#elif defined(__aarch64__)
    case Isa::neon:
      return kHistogramNeon;
#endif
    default:
      return kHistogramReference;
  }
}

}  // namespace halfstep::kernels
