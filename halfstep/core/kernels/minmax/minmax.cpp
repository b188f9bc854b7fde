#include "halfstep/core/kernels/minmax/minmax.h"

#include "halfstep/core/kernels/minmax/minmax_body.h"

namespace halfstep {
namespace kernels {

const MinMaxKernels kMinMaxReference = {Isa::reference, minmax_runs<Scalar>,
                                        minmax_columns<Scalar>};

bool finish_ranges(float* min, float* max, std::size_t units) noexcept {
  const float infinity = __builtin_inff();
  int infinite = 0;
  for (std::size_t i = 0; i < units; ++i) {  // without branches: the compiler makes vectors of it
    const float low = min[i];
    const float high = max[i];
    infinite |= low <= high && (low == -infinity || high == infinity) ? 1 : 0;
    min[i] = low > high ? 0.0F : low + 0.0F;
    max[i] = low > high ? 0.0F : high + 0.0F;
  }
  return infinite == 0;
}

void join_zero(float* min, float* max, std::size_t units) noexcept {
  for (std::size_t i = 0; i < units; ++i) {
    min[i] = min[i] > 0 ? 0.0F : min[i] + 0.0F;
  }
  for (std::size_t i = 0; i < units; ++i) {
    max[i] = max[i] < 0 ? 0.0F : max[i] + 0.0F;
  }
}

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
