#pragma once

// The loop of histogram.h: the compiler makes vectors of the first half with the instruction set of
// the file that includes it.
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace halfstep::kernels {
namespace {

inline std::size_t count_values(const float* x, std::size_t size, double per_width,
                                std::int32_t first, std::uint32_t* tables, std::size_t stride) {
  constexpr std::size_t kChunk = 256;
  std::int32_t bins[kChunk];
  std::uint32_t* const second = tables + stride;
  std::uint32_t* const third = second + stride;
  std::uint32_t* const fourth = third + stride;
  std::size_t zeros = 0;
  for (std::size_t begin = 0; begin < size; begin += kChunk) {
    const std::size_t count = size - begin < kChunk ? size - begin : kChunk;
    std::int32_t zeros_here = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const float value = x[begin + i];
      bins[i] =
          static_cast<std::int32_t>(std::floor(static_cast<double>(value) * per_width)) - first;
      zeros_here += value == 0.0F ? 1 : 0;
    }
    zeros += static_cast<std::size_t>(zeros_here);
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      ++tables[bins[i]];
      ++second[bins[i + 1]];
      ++third[bins[i + 2]];
      ++fourth[bins[i + 3]];
    }
    for (; i < count; ++i) {
      ++tables[bins[i]];
    }
  }
  return zeros;
}

}  // namespace
}  // namespace halfstep::kernels
