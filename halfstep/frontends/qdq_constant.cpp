#include "halfstep/frontends/qdq_constant.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "halfstep/core/half.h"
#include "halfstep/core/quantize.h"

namespace halfstep {
namespace {

std::vector<std::byte> float_bytes(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Rounds the values in place, too.
std::vector<std::byte> rounded_to_half(std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(Float16));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Float16 rounded = to_float16(values[i]);
    std::memcpy(bytes.data() + i * sizeof(rounded), &rounded, sizeof(rounded));
    values[i] = to_float(rounded);
  }
  return bytes;
}

/// Can float32 values be too coarse, or too near to the ends of their range, to restore the codes?
bool may_be_lost(const std::vector<std::byte>& codes, const Encoding& encoding) {
  constexpr float kSmallest = 1e-30F;
  constexpr float kLargest = 1e30F;
  constexpr std::int32_t kSafe = 2097152;  // 2^21: two roundings of 2^-24 stay below half a step
  if (std::any_of(encoding.scale.begin(), encoding.scale.end(),
                  [](float scale) { return scale < kSmallest || scale > kLargest; })) {
    return true;
  }
  for (std::size_t i = 0; bits(encoding.dtype) == 32 && i < codes.size(); i += 4) {
    std::int32_t code = 0;
    std::memcpy(&code, codes.data() + i, sizeof(code));
    if (code > kSafe || code < -kSafe) {
      return true;
    }
  }
  return false;
}

}  // namespace

DequantizedConstant dequantized_constant(const Model& model, const onnx::TensorProto& stored,
                                         const Encoding& encoding, bool half) {
  const Shape shape = shape_of(stored);
  const auto count = static_cast<std::size_t>(element_count(shape));
  std::vector<std::byte> codes(count * storage_size(encoding.dtype));
  // A narrower type (int3) is packed as the type that stores it (int4).
  unpack(model.data(stored).span(), dtype_from_onnx(stored.data_type()).value_or(encoding.dtype),
         codes);
  model.drop(stored);
  const Mapping mapping = bind(encoding, shape, Role::weight);
  std::vector<float> values(count);
  dequantize(codes, mapping, {values.data(), shape});

  DequantizedConstant result{.dtype = half ? Dtype::float16 : Dtype::float32};
  result.bytes = half ? rounded_to_half(values) : float_bytes(values);
  bool lost = may_be_lost(codes, encoding);
  if (half && !lost) {
    std::vector<std::byte> again(codes.size());
    quantize({values.data(), shape}, mapping, again);
    lost = again != codes;
  }
  if (lost) {
    result.codes = std::move(codes);
  }
  return result;
}

}  // namespace halfstep
