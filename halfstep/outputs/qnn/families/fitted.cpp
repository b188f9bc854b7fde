#include "halfstep/outputs/qnn/families/fitted.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/quantize.h"
#include "halfstep/outputs/constant_codes.h"
#include "halfstep/outputs/qnn/constant_data.h"

namespace halfstep::qnn {

std::string fitted(const NodeContext& context, const std::string& base,
                   const std::vector<float>& values, DataType type) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  if (is_float(type)) {
    return context.graph.add_constant(base, {.type = type}, shape, float_bytes(values, type));
  }
  const bool is_signed = (static_cast<std::uint32_t>(type) >> 8U) == 3;
  const std::size_t width = size_of(type);
  const Dtype dtype = width == 4   ? Dtype::int32
                      : width == 2 ? (is_signed ? Dtype::int16 : Dtype::uint16)
                                   : (is_signed ? Dtype::int8 : Dtype::uint8);
  const bool symmetric = is_signed || width > 1;
  Encoding encoding{.dtype = dtype};
  if (dtype == Dtype::int32) {
    float largest = 0;
    for (const float value : values) {
      largest = std::max(largest, std::fabs(value));
    }
    encoding.scale = {largest == 0 ? 1.0F : largest / 0x1p24F};
    encoding.zero_point = {0};
  } else {
    const ResolvedSpec spec =
        resolve({.dtype = dtype,
                 .qscheme = symmetric ? Scheme::symmetric : Scheme::asymmetric,
                 .granularity = PerTensor{},
                 .policy = Policy::safe},
                Role::weight);
    encoding = encoding_of(fit({values.data(), shape}, spec), Origin::adapted);
  }
  return context.graph.add_constant(base, tensor_type(encoding, shape, {0}), shape,
                                    constant_codes(values, encoding, shape));
}

std::vector<float> values_of(const NodeContext& context, int slot) {
  if (!context.has(slot) || !context.is_constant(slot)) {
    context.refuse("its input " + std::to_string(slot) + " is computed, and QNN wants it constant");
  }
  return context.graph.model().floats(*context.graph.index().constant(context.in(slot)));
}

}  // namespace halfstep::qnn
