#pragma once

// The loops of minmax.h, written once over the vectors of an instruction set `S`.
#include <cstddef>

#include "halfstep/core/kernels/simd/scalar.h"

namespace halfstep::kernels {
namespace {

/// Accumulators in flight: hides the latency of min and max.
constexpr std::size_t kLanes = 4;

template <typename S>
struct RunningRange {
  typename S::F min[kLanes], max[kLanes];
  typename S::Flag nan = S::no_flag();

  RunningRange(float lowest, float highest) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      min[j] = S::set(lowest);
      max[j] = S::set(highest);
    }
  }
  void widen(std::size_t lane, typename S::F v) {
    min[lane] = S::min(v, min[lane]);  // a NaN leaves the second operand
    max[lane] = S::max(v, max[lane]);
  }
  void finish(float* lowest, float* highest) {
    for (std::size_t j = 1; j < kLanes; ++j) {
      min[0] = S::min(min[j], min[0]);
      max[0] = S::max(max[j], max[0]);
    }
    *lowest = S::reduce_min(min[0]);
    *highest = S::reduce_max(max[0]);
  }
};

template <typename S>
bool short_run(const float* x, std::size_t length, float* min, float* max) {
  bool nan = false;
  for (std::size_t i = 0; i < length; ++i) {
    *min = Scalar::min(x[i], *min);
    *max = Scalar::max(x[i], *max);
    nan = nan || Scalar::unordered(x[i], x[i]);
  }
  return nan;
}

template <typename S>
bool one_run(const float* x, std::size_t length, float* min, float* max) {
  if (length < S::kWidth) {
    return short_run<S>(x, length, min, max);
  }
  RunningRange<S> range(*min, *max);
  constexpr std::size_t kStep = kLanes * S::kWidth;
  std::size_t i = 0;
  for (; i + kStep <= length; i += kStep) {
    for (std::size_t j = 0; j < kLanes; j += 2) {
      // Far enough ahead to hide memory, and past the end only in address.
      __builtin_prefetch(x + i + j * S::kWidth + 1024);
      __builtin_prefetch(x + i + (j + 1) * S::kWidth + 1024);
      const typename S::F v = S::load(x + i + j * S::kWidth);
      const typename S::F w = S::load(x + i + (j + 1) * S::kWidth);
      range.nan = S::join(range.nan, S::unordered(v, w));
      range.widen(j, v);
      range.widen(j + 1, w);
    }
  }
  for (; i < length; i += S::kWidth) {
    // The last vector may cover values again: a range does not change by that.
    const std::size_t at = i + S::kWidth <= length ? i : length - S::kWidth;
    const typename S::F v = S::load(x + at);
    range.nan = S::join(range.nan, S::unordered(v, v));
    range.widen(0, v);
  }
  range.finish(min, max);
  return S::any(range.nan);
}

template <typename S>
bool minmax_runs(const float* x, std::size_t runs, std::size_t length, float* min, float* max) {
  bool nan = false;
  for (std::size_t r = 0; r < runs; ++r) {
    nan = one_run<S>(x + r * length, length, min + r, max + r) || nan;
  }
  return nan;
}

/// One vector of columns through `kRows` rows.
template <typename S, std::size_t kRows>
typename S::Flag column_step(const float* x, std::size_t row_stride, float* min, float* max,
                             typename S::Flag nan) {
  typename S::F lowest = S::load(min);
  typename S::F highest = S::load(max);
  for (std::size_t r = 0; r < kRows; ++r) {
    const typename S::F v = S::load(x + r * row_stride);
    lowest = S::min(v, lowest);
    highest = S::max(v, highest);
    nan = S::join(nan, S::unordered(v, v));
  }
  S::store(min, lowest);
  S::store(max, highest);
  return nan;
}

template <typename S, std::size_t kRows>
bool column_rows(const float* x, std::size_t row_stride, std::size_t columns, float* min,
                 float* max) {
  typename S::Flag nan = S::no_flag();
  std::size_t c = 0;
  for (; c + S::kWidth <= columns; c += S::kWidth) {
    nan = column_step<S, kRows>(x + c, row_stride, min + c, max + c, nan);
  }
  bool tail_nan = false;
  for (; c < columns; ++c) {
    tail_nan =
        column_step<Scalar, kRows>(x + c, row_stride, min + c, max + c, tail_nan);
  }
  return S::any(nan) || tail_nan;
}

template <typename S>
bool minmax_columns(const float* x, std::size_t rows, std::size_t row_stride, std::size_t columns,
                    float* min, float* max) {
  bool nan = false;
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    nan = column_rows<S, 4>(x + r * row_stride, row_stride, columns, min, max) || nan;
  }
  for (; r < rows; ++r) {
    nan = column_rows<S, 1>(x + r * row_stride, row_stride, columns, min, max) || nan;
  }
  return nan;
}

}  // namespace
}  // namespace halfstep::kernels
