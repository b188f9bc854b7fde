#include "halfstep/core/kernels/histogram/histogram.h"
#include "halfstep/core/kernels/histogram/histogram_body.h"

namespace halfstep::kernels {

const HistogramKernels kHistogramAvx512 = {Isa::avx512, count_values};

}  // namespace halfstep::kernels
