#pragma once

#include <cstdint>
#include <vector>

#include "halfstep/outputs/qnn/node_context.h"

namespace halfstep::qnn {

/// What a filter or a pool slides over, for each spatial axis. One axis becomes two: an image of
/// height 1.
struct Window {
  std::vector<std::uint32_t> kernel{}, stride{}, dilation{};
  std::vector<std::uint32_t> pads{};  ///< before and after each axis, in turn
};

/// The attributes kernel_shape, strides, dilations, pads, auto_pad, ceil_mode of a node whose input
/// 0 slides. `kernel`: spatial extents of the filter. Rounding up becomes padding at the end, which
/// gives the same windows.
[[nodiscard]] Window read_window(const NodeContext& context, std::vector<std::int64_t> kernel);

/// pad_amount of `pads`, an axis a row.
[[nodiscard]] Param pad_param(const std::vector<std::uint32_t>& pads);

}  // namespace halfstep::qnn
