#pragma once

#include <cstddef>
#include <cstdint>

#include "halfstep/core/kernels/isa.h"

namespace halfstep::kernels {

/// Tables that a count is spread over: several equal values in a row (the zeros of a Relu) would
/// otherwise wait for one another.
constexpr std::size_t kCountTables = 4;

/// The hot loop behind histograms.
struct HistogramKernels {
  Isa isa;
  /// Counts value x[i] in bin floor(x[i] * per_width) - first of one of kCountTables tables that
  /// lie `stride` apart, and returns how many values are zero.
  ///
  /// All values are finite, their bins lie within [0, stride), and floor(x[i] * per_width) fits 30
  /// bits. `per_width` is a power of two, so the product is exact in float64.
  std::size_t (*count)(const float* x, std::size_t size, double per_width, std::int32_t first,
                       std::uint32_t* tables, std::size_t stride);
};

[[nodiscard]] const HistogramKernels& histogram_kernels() noexcept;

extern const HistogramKernels kHistogramReference;
extern const HistogramKernels kHistogramAvx2;
extern const HistogramKernels kHistogramAvx512;
extern const HistogramKernels kHistogramNeon;

}  // namespace halfstep::kernels
