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

/// Memory is read fastest as several streams at once, each in a page of its own.
constexpr std::size_t kPage = 1024;

/// Where only one stream is read, memory is asked for this many values ahead.
constexpr std::size_t kAhead = 4 * kPage;

template <typename S>
void widen_pages(const float* x, RunningRange<S>& range) {
  for (std::size_t i = 0; i < kPage; i += S::kWidth) {
    typename S::F v[kLanes];
    for (std::size_t j = 0; j < kLanes; ++j) {
      v[j] = S::load(x + i + j * kPage);
      range.widen(j, v[j]);
    }
    for (std::size_t j = 0; j < kLanes; j += 2) {
      range.nan = S::join(range.nan, S::unordered(v[j], v[j + 1]));
    }
  }
}

template <typename S>
bool one_run(const float* x, std::size_t length, float* min, float* max) {
  if (length < S::kWidth) {
    return short_run<S>(x, length, min, max);
  }
  RunningRange<S> range(*min, *max);
  std::size_t i = 0;
  for (; i + kLanes * kPage <= length; i += kLanes * kPage) {
    widen_pages(x + i, range);
  }
  for (std::size_t lane = 0; i < length; i += S::kWidth, lane = (lane + 1) % kLanes) {
    // The last vector may cover values again: a range does not change by that.
    const std::size_t at = i + S::kWidth <= length ? i : length - S::kWidth;
    const typename S::F v = S::load(x + at);
    range.nan = S::join(range.nan, S::unordered(v, v));
    range.widen(lane, v);
  }
  range.finish(min, max);
  return S::any(range.nan);
}

/// As many runs of whole vectors as a vector has lanes: their reductions share the work.
template <typename S>
typename S::Flag group_of_runs(const float* x, std::size_t length, float* min, float* max,
                               typename S::Flag nan) {
  typename S::F lowest[S::kWidth], highest[S::kWidth];
  for (std::size_t r = 0; r < S::kWidth; ++r) {
    // A NaN at the start may hide what follows; it is reported, and the result then void.
    S::prefetch(x + r * length + kAhead);
    typename S::F v = S::load(x + r * length);
    nan = S::join(nan, S::unordered(v, v));
    lowest[r] = highest[r] = v;
    for (std::size_t i = S::kWidth; i < length; i += S::kWidth) {
      S::prefetch(x + r * length + i + kAhead);
      v = S::load(x + r * length + i);
      nan = S::join(nan, S::unordered(v, v));
      lowest[r] = S::min(v, lowest[r]);
      highest[r] = S::max(v, highest[r]);
    }
  }
  S::store(min, S::min(S::reduce_min_each(lowest), S::load(min)));
  S::store(max, S::max(S::reduce_max_each(highest), S::load(max)));
  return nan;
}

template <typename S>
bool minmax_runs(const float* x, std::size_t runs, std::size_t length, float* min, float* max) {
  bool nan = false;
  std::size_t r = 0;
  if (length % S::kWidth == 0 && length <= 8 * S::kWidth && length > 0) {
    typename S::Flag group_nan = S::no_flag();
    for (; r + S::kWidth <= runs; r += S::kWidth) {
      group_nan = group_of_runs<S>(x + r * length, length, min + r, max + r, group_nan);
    }
    nan = S::any(group_nan);
  }
  for (; r < runs; ++r) {
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
    tail_nan = column_step<Scalar, kRows>(x + c, row_stride, min + c, max + c, tail_nan);
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
