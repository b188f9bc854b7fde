#include "halfstep/core/kernels/histogram/histogram.h"
#include "halfstep/core/kernels/histogram/histogram_body.h"

namespace halfstep::kernels {

const HistogramKernels kHistogramNeon = {Isa::neon, count_values};

}  // namespace halfstep::kernels
