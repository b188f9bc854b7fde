#pragma once

#include <cstddef>
#include <cstdint>

#include "halfstep/core/kernels/isa.h"

namespace halfstep {

struct MinMax {
  float min = 0, max = 0;
  std::int64_t nan_count = 0, infinity_count = 0;
};

/// Smallest and largest finite value of a row of floats; NaN and infinities are left out and
/// counted.
///
/// Edge: [0, 0] if there is no finite value; zero is +0 whatever its sign in the data.
/// Runs at memory bandwidth while everything is finite; a second pass counts what is not.
[[nodiscard]] MinMax minmax(const float* data, std::size_t count) noexcept;

namespace kernels {

/// The hot loops behind ranges. All of them widen the ranges they are given: min[i] and max[i] hold
/// what was seen before, +infinity and -infinity at the start. The result tells whether there was a
/// NaN; min and max are then void.
struct MinMaxKernels {
  Isa isa;
  /// `runs` rows after one another, each `length` values; row r widens min[r], max[r].
  bool (*runs)(const float* x, std::size_t runs, std::size_t length, float* min, float* max);
  /// `rows` rows of `columns` values, `row_stride` apart; column c widens min[c], max[c].
  bool (*columns)(const float* x, std::size_t rows, std::size_t row_stride, std::size_t columns,
                  float* min, float* max);
};

/// Units without values (min > max) become [0, 0], -0 becomes +0, so that the order in which values
/// were seen does not show. False if a bound is infinite.
bool finish_ranges(float* min, float* max, std::size_t units) noexcept;
/// min = min(min, 0), max = max(max, 0); NaN stays, and no zero is negative.
void join_zero(float* min, float* max, std::size_t units) noexcept;

[[nodiscard]] const MinMaxKernels& minmax_kernels() noexcept;

extern const MinMaxKernels kMinMaxReference;
extern const MinMaxKernels kMinMaxAvx2;
extern const MinMaxKernels kMinMaxAvx512;
extern const MinMaxKernels kMinMaxNeon;

}  // namespace kernels
}  // namespace halfstep
