#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "halfstep/encodings/encoding.h"

namespace halfstep {

/// The parameters of an encoding as QuantizeLinear (and the encodings file 2.x, which follows it)
/// lays them out: one axis that is per channel or cut into blocks, and a shape.
struct LinearForm {
  std::optional<std::int64_t> axis{};  ///< empty: per tensor
  std::int64_t block_size = 0;         ///< 0: per channel
  Shape shape{};                       ///< of the parameters
  /// For each parameter in row-major order of `shape`, the unit of the encoding it repeats.
  std::vector<std::size_t> units{};
};

/// How axes that are not cut into blocks are written.
enum class Spread : std::uint8_t {
  compact,  ///< 1 where one unit covers the whole axis
  full,     ///< the tensor's extent, as ONNX Runtime demands
};

/// Blocks along several axes are repeated along all but one of them. `shape` is the tensor's; an
/// unknown extent is -1.
/// Shapes:  LPBQ gives the form of its block scales.
/// Errors:  unsupported if an extent is needed and unknown. The encoding must be valid for `shape`.
[[nodiscard]] LinearForm linear_form(const Encoding& encoding, const Shape& shape, Spread spread);
/// The same without `units`.
[[nodiscard]] LinearForm linear_layout(const Encoding& encoding, const Shape& shape, Spread spread);

}  // namespace halfstep
