#include "halfstep/outputs/constant_codes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <variant>

#include "halfstep/core/quantize.h"
#include "halfstep/outputs/onnx_storage.h"

namespace halfstep {
namespace {

bool is_wide(const Encoding& encoding) {
  return is_integer(encoding.dtype) && bits(encoding.dtype) == 32 && encoding.minval.empty() &&
         (std::holds_alternative<PerTensor>(encoding.granularity) ||
          std::holds_alternative<PerChannel>(encoding.granularity));
}

std::vector<std::byte> wide_codes(const std::vector<float>& values, const Encoding& encoding,
                                  const Shape& shape) {
  std::size_t inner = 1;  // values that share a scale in a row
  if (const auto* channel = std::get_if<PerChannel>(&encoding.granularity)) {
    const auto axis = static_cast<std::size_t>(channel->axis.value_or(0));
    inner = static_cast<std::size_t>(element_count(std::span(shape).subspan(axis + 1)));
  }
  const auto lowest = static_cast<double>(info(encoding.dtype).lowest);
  const auto highest = static_cast<double>(info(encoding.dtype).highest);
  std::vector<std::byte> codes(values.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t unit = encoding.scale.size() == 1 ? 0 : i / inner % encoding.scale.size();
    const float steps = values[i] / encoding.scale[unit];
    const auto zero_point =
        static_cast<double>(encoding.zero_point.empty() ? 0 : encoding.zero_point[unit]);
    const double code = std::isnan(steps) ? zero_point : std::rint(steps) + zero_point;
    const auto stored = static_cast<std::int64_t>(std::clamp(code, lowest, highest));
    std::memcpy(codes.data() + i * sizeof(std::uint32_t), &stored, sizeof(std::uint32_t));
  }
  return codes;
}

/// One code a value, in storage_size() bytes of the encoding's own type.
std::vector<std::byte> quantized(const std::vector<float>& values, const Encoding& encoding,
                                 const Shape& shape, int threads) {
  if (is_wide(encoding)) {
    return wide_codes(values, stored_encoding(encoding), shape);  // uint32 goes as int32
  }
  const Mapping mapping = bind(encoding, shape, Role::weight);
  std::vector<std::byte> codes(values.size() * storage_size(encoding.dtype));
  quantize({values.data(), shape}, mapping, codes, threads);
  return codes;
}

}  // namespace

std::vector<std::byte> constant_codes(std::vector<float> values, const Encoding& encoding,
                                      const Shape& shape, int threads) {
  std::vector<std::byte> codes = quantized(values, encoding, shape, threads);
  if (!encoding.half_step) {
    return codes;
  }
  // The grid of half steps is a part of the finer stored grid, so the way over its values is exact.
  dequantize(codes, bind(encoding, shape, Role::weight), {values.data(), shape}, threads);
  return quantized(values, stored_encoding(encoding), shape, threads);
}

}  // namespace halfstep
