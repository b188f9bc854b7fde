#include "halfstep/core/kernels/histogram/histogram.h"
#include "halfstep/core/kernels/histogram/histogram_body.h"

namespace halfstep::kernels {

const HistogramKernels kHistogramAvx2 = {Isa::avx2, count_values};

}  // namespace halfstep::kernels
