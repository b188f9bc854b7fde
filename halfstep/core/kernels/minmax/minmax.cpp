#include "halfstep/core/kernels/minmax/minmax.h"

#include "halfstep/core/kernels/minmax/minmax_body.h"

namespace halfstep {
namespace kernels {

const MinMaxKernels kMinMaxReference = {Isa::reference, minmax_runs<Scalar>,
                                        minmax_columns<Scalar>};

const MinMaxKernels& minmax_kernels() noexcept {
  switch (active_isa()) {
#if defined(__x86_64__)
    case Isa::avx512:
      return kMinMaxAvx512;
    case Isa::avx2:
      return kMinMaxAvx2;
#elif defined(__aarch64__)
    case Isa::neon:
      return kMinMaxNeon;
#endif
    default:
      return kMinMaxReference;
  }
}

}  // namespace kernels

namespace {

MinMax finite_minmax(const float* data, std::size_t count) noexcept {
  const float infinity = __builtin_inff();
  MinMax range{.min = infinity, .max = -infinity};
  for (std::size_t i = 0; i < count; ++i) {
    const float v = data[i];
    const bool finite = v > -infinity && v < infinity;
    range.nan_count += v != v ? 1 : 0;
    range.infinity_count += v == infinity || v == -infinity ? 1 : 0;
    range.min = finite && v < range.min ? v : range.min;
    range.max = finite && v > range.max ? v : range.max;
  }
  return range;
}

}  // namespace

MinMax minmax(const float* data, std::size_t count) noexcept {
  const float infinity = __builtin_inff();
  MinMax range{.min = infinity, .max = -infinity};
  const bool nan = kernels::minmax_kernels().runs(data, 1, count, &range.min, &range.max);
  if (nan || range.min == -infinity || range.max == infinity) {
    range = finite_minmax(data, count);
  }
  if (range.min > range.max) {
    range.min = 0;
    range.max = 0;
  }
  range.min += 0.0F;  // -0 becomes +0, so that the order of the values does not show
  range.max += 0.0F;
  return range;
}

}  // namespace halfstep
