#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "halfstep/core/quantize.h"
#include "halfstep/core/spec.h"

namespace halfstep {

/// Where an encoding came from. A later one wins over an earlier one.
enum class Origin : std::uint8_t {
  default_type,   ///< nothing said: the target's default float type
  calibrated,     ///< ranges measured on samples, or on the weight itself
  model,          ///< the model's own Q/DQ or quantized tensors
  override_file,  ///< the user's encodings file
  propagated,     ///< copied along a data-movement chain or an equal-encoding group
  adapted,        ///< changed for the target
  fixed_range,    ///< the range of a bounded function, by recipe or target
};
[[nodiscard]] std::string_view name(Origin origin) noexcept;

/// How one tensor is stored: the result of quantization. Knows no shape; `bind` makes a Mapping for
/// one. Formula: value = (q - zero_point) * scale, q in the dtype's own range
///          minval: value = (q - quant_min) * scale + minval
struct Encoding {
  Dtype dtype = Dtype::uint8;
  Granularity granularity = PerTensor{};  ///< axes are filled in and not negative
  /// Shape of the parameters: {} per tensor, {C} per channel, rank of the tensor per block and
  /// LPBQ.
  Shape shape{};
  std::vector<float> scale{};  ///< one per unit; LPBQ: one per channel. Empty for float types
  std::vector<std::int64_t> zero_point{};  ///< as many as `scale`, or empty: all 0
  bool half_step = false;                  ///< 2-bit files with zero point -0.5: subtract 0.5 more
  std::vector<float> minval{};             ///< only Formulation::minval
  std::vector<std::int32_t>
      block_scale{};  ///< LPBQ: integer scale of each block, `shape` row-major
  Origin origin = Origin::calibrated;
  bool operator==(const Encoding&) const = default;

  [[nodiscard]] bool is_float() const noexcept { return scale.empty(); }
  /// All zero points 0 in a signed type, 2^(b-1) in an unsigned one (DESIGN 4).
  [[nodiscard]] bool symmetric() const noexcept;
};

/// Errors: invalid_argument if counts do not fit `shape`, a scale is not finite and > 0,
/// a zero point lies outside the dtype.
void validate(const Encoding& encoding, const Shape& shape);
[[nodiscard]] Encoding encoding_of(const Mapping& mapping, Origin origin);
/// Errors: as validate.
[[nodiscard]] Mapping bind(const Encoding& encoding, const Shape& shape, Role role);

}  // namespace halfstep
