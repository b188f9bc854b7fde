#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "halfstep/core/kernels/minmax/minmax.h"
#include "halfstep/core/padding.h"
#include "halfstep/core/plan.h"
#include "halfstep/core/quantize.h"
#include "halfstep/core/strided.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

using internal::Plan;
using internal::Tile;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Values of a narrower type are widened this many at a time.
constexpr std::int64_t kBuffer = 4096;
/// Rows shorter than this are joined to longer ones.
constexpr std::int64_t kShortRow = 32;

/// Smallest and largest of each unit so far, +infinity and -infinity at the start.
struct Accumulator {
  explicit Accumulator(std::size_t units) : min(units, kInfinity), max(units, -kInfinity) {}
  void merge(const Accumulator& other) {
    for (std::size_t i = 0; i < min.size(); ++i) {
      min[i] = std::min(min[i], other.min[i]);
      max[i] = std::max(max[i], other.max[i]);
    }
  }
  std::vector<float> min, max;
};

/// Short rows of the same units: several of them side by side fill a vector.
bool short_columns(const float* x, const Tile& tile, float* min, float* max) {
  constexpr std::size_t kWidth = 256;
  const auto length = static_cast<std::size_t>(tile.length);
  const std::size_t joined = kWidth / length;
  const std::size_t rows = static_cast<std::size_t>(tile.rows) / joined;
  std::array<float, kWidth> low, high;
  low.fill(kInfinity);
  high.fill(-kInfinity);
  const kernels::MinMaxKernels& kernels = kernels::minmax_kernels();
  bool nan = kernels.columns(x, rows, joined * length, joined * length, low.data(), high.data());
  for (std::size_t i = 0; i < joined * length; ++i) {
    min[i % length] = std::min(min[i % length], low[i]);
    max[i % length] = std::max(max[i % length], high[i]);
  }
  const std::size_t done = rows * joined;
  nan = kernels.columns(x + done * length, static_cast<std::size_t>(tile.rows) - done, length,
                        length, min, max) ||
        nan;
  return nan;
}

bool widen(const float* x, const Tile& tile, Accumulator& ranges) {
  const kernels::MinMaxKernels& kernels = kernels::minmax_kernels();
  float* min = ranges.min.data() + tile.unit;
  float* max = ranges.max.data() + tile.unit;
  const auto rows = static_cast<std::size_t>(tile.rows);
  const auto length = static_cast<std::size_t>(tile.length);
  if (!tile.columns) {
    return kernels.runs(x, rows, length, min, max);
  }
  if (tile.length < kShortRow && tile.row_stride == tile.length && tile.rows > kBuffer / 64) {
    return short_columns(x, tile, min, max);
  }
  return kernels.columns(x, rows, static_cast<std::size_t>(tile.row_stride), length, min, max);
}

/// The values of a tile as float32: where they lie, or gathered into `buffer`.
template <typename T>
const float* as_float(const TensorView<const T>& x, bool direct, Tile& tile,
                      std::vector<float>& buffer) {
  if constexpr (std::is_same_v<T, float>) {
    if (direct) {
      return x.data() + tile.element;
    }
  }
  // A bounded tile is one run of values: whole rows, or a part of one.
  const std::int64_t count = tile.rows * tile.length;
  buffer.resize(static_cast<std::size_t>(count));
  internal::gather(x, tile.element, count, buffer.data());
  return buffer.data();
}

/// All values, NaN left out; `nan` tells whether there was one.
template <typename T>
Accumulator fast_ranges(const TensorView<const T>& x, const UnitGrid& grid, int threads,
                        bool& nan) {
  const Plan plan(grid);
  const bool direct = std::is_same_v<T, float> && x.contiguous();
  const std::int64_t most = direct ? std::numeric_limits<std::int64_t>::max() / 2 : kBuffer;
  const auto units = static_cast<std::size_t>(grid.units());
  const bool shared = plan.parts_are_disjoint(threads);
  const std::int64_t parts = shared ? 1 : plan.parts(threads);
  std::vector<Accumulator> accumulators;
  for (std::int64_t part = 0; part < parts; ++part) {
    accumulators.emplace_back(units);
  }
  std::atomic<bool> any_nan{false};
  plan.for_each(threads, most, [&](std::int64_t part, Tile tile) {
    thread_local std::vector<float> buffer;
    if (widen(as_float(x, direct, tile, buffer), tile,
              accumulators[static_cast<std::size_t>(shared ? 0 : part)])) {
      any_nan.store(true, std::memory_order_relaxed);
    }
  });
  for (std::size_t part = 1; part < accumulators.size(); ++part) {
    accumulators[0].merge(accumulators[part]);
  }
  nan = any_nan.load();
  return std::move(accumulators[0]);
}

/// One value at a time, with NaN and infinities counted, and left out or kept by `policy`.
template <typename T>
Accumulator careful_ranges(const TensorView<const T>& x, const UnitGrid& grid, Policy policy,
                           Ranges& counts) {
  Accumulator ranges(static_cast<std::size_t>(grid.units()));
  std::vector<bool> has_nan(ranges.min.size());
  const Plan plan(grid);
  const auto look_at = [&](float v, std::size_t unit) {
    if (std::isnan(v)) {
      ++counts.nan_count;
      has_nan[unit] = true;
      return;
    }
    const bool infinite = std::isinf(v);
    counts.infinity_count += infinite ? 1 : 0;
    if (!infinite || policy == Policy::reference) {
      ranges.min[unit] = std::min(ranges.min[unit], v);
      ranges.max[unit] = std::max(ranges.max[unit], v);
    }
  };
  std::vector<float> values(static_cast<std::size_t>(kBuffer));
  plan.for_each(1, kBuffer, [&](std::int64_t, const Tile& tile) {
    internal::gather(x, tile.element, tile.rows * tile.length, values.data());
    std::size_t at = 0;
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      for (std::int64_t i = 0; i < tile.length; ++i) {
        look_at(values[at++], static_cast<std::size_t>(tile.unit + (tile.columns ? i : row)));
      }
    }
  });
  for (std::size_t unit = 0; unit < has_nan.size() && policy == Policy::reference; ++unit) {
    if (has_nan[unit]) {
      ranges.min[unit] = ranges.max[unit] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  return ranges;
}

template <typename T>
Ranges measure(const TensorView<const T>& x, const UnitGrid& grid, Policy policy, int threads) {
  Ranges result;
  bool nan = false;
  Accumulator ranges = fast_ranges(x, grid, threads, nan);
  const auto finish = [](Accumulator& found) {
    return kernels::finish_ranges(found.min.data(), found.max.data(), found.min.size());
  };
  if (!finish(ranges) || nan) {
    ranges = careful_ranges(x, grid, policy, result);
    finish(ranges);
  }
  result.min = std::move(ranges.min);
  result.max = std::move(ranges.max);
  return result;
}

/// NaN and infinities in a tensor.
template <typename T>
void count_special(const TensorView<const T>& x, Ranges& counts) {
  counts.nan_count = counts.infinity_count = 0;
  for (const T value : contiguous_copy(x)) {
    counts.nan_count += std::isnan(to_float(value)) ? 1 : 0;
    counts.infinity_count += std::isinf(to_float(value)) ? 1 : 0;
  }
}

/// With a copy in which the last units are as long as the others.
template <typename T>
Ranges measure_padded(const TensorView<const T>& x, const UnitGrid& grid, Policy policy,
                      int threads) {
  const UnitGrid whole = internal::padded(grid);
  const std::vector<T> values = internal::resized(contiguous_copy(x), grid.shape, whole.shape);
  const TensorView<const T> view(values.data(), whole.shape);
  Ranges ranges = measure(view, whole, policy, threads);
  if (ranges.nan_count + ranges.infinity_count > 0) {
    count_special(x, ranges);  // not those that were repeated
  }
  return ranges;
}

float rounded_to(double bound, Dtype dtype) {
  const auto value = static_cast<float>(bound);
  return dtype == Dtype::float16    ? to_float(to_float16(value))
         : dtype == Dtype::bfloat16 ? to_float(to_bfloat16(value))
                                    : value;
}

}  // namespace

Ranges measure_range(const FloatView& x, const UnitGrid& grid, Policy policy, int threads) {
  if (shape_of(x) != grid.shape) {
    throw Error(ErrorKind::invalid_argument, "the tensor has shape " + to_text(shape_of(x)) +
                                                 "; expected " + to_text(grid.shape) +
                                                 ", the shape its units were made for");
  }
  return std::visit(
      [&]<typename T>(const TensorView<const T>& view) {
        Ranges ranges = grid.uneven() ? measure_padded(view, grid, policy, threads)
                                      : measure(view, grid, policy, threads);
        const bool narrow = dtype_of<T>() == Dtype::float16 || dtype_of<T>() == Dtype::bfloat16;
        ranges.dtype = narrow && policy == Policy::reference ? dtype_of<T>() : Dtype::float32;
        return ranges;
      },
      x);
}

Ranges measure_range(const TensorView<const float>& x, const UnitGrid& grid, Policy policy,
                     int threads) {
  return measure_range(FloatView(x), grid, policy, threads);
}

Ranges with_zero_and_bounds(Ranges ranges, const QuantizationSpec& spec) {
  if (spec.float_min && spec.float_max) {
    ranges.dtype = Dtype::float32;  // nothing of the data is left
  }
  if (spec.float_min) {
    std::fill(ranges.min.begin(), ranges.min.end(), rounded_to(*spec.float_min, ranges.dtype));
  }
  if (spec.float_max) {
    std::fill(ranges.max.begin(), ranges.max.end(), rounded_to(*spec.float_max, ranges.dtype));
  }
  kernels::join_zero(ranges.min.data(), ranges.max.data(), ranges.min.size());
  return ranges;
}

}  // namespace halfstep
