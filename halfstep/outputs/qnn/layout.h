#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/support/tensor_view.h"

namespace halfstep::qnn {

/// How a tensor of the model lies in memory: axis i of what is stored is axis layout[i] of the
/// model's tensor; -1 is an inserted axis of extent 1 (convolutions over one axis run as
/// two-dimensional ones). Every axis of the model's tensor occurs exactly once.
using Layout = std::vector<int>;

[[nodiscard]] Layout identity_layout(std::size_t rank);
/// 0, 2, 3, .., 1: batch first, channels last. Of rank 3: 0, -1, 2, 1, an image of height 1.
[[nodiscard]] Layout channels_last(std::size_t rank);
/// Is the layout identity but for axis 1, which comes last? Inserted axes are not looked at.
[[nodiscard]] bool is_channels_last(const Layout& layout);
[[nodiscard]] bool is_identity(const Layout& layout);
/// Is it a layout that operators pass on which don't care: channels last, or the model's own order
/// with inserted axes?
[[nodiscard]] bool travels(const Layout& layout);

/// Extents as stored.
[[nodiscard]] Shape stored_shape(const Shape& shape, const Layout& layout);
/// Where axis `axis` of the model's tensor is stored.
[[nodiscard]] std::size_t stored_axis(const Layout& layout, std::int64_t axis);
/// The axes of an extent other than 1, in the order in which they are stored: two layouts with the
/// same order have the same bytes.
[[nodiscard]] std::vector<int> memory_order(const Shape& shape, const Layout& layout);

/// Axes for values of `own` rank that broadcast (from the right) to a tensor of `rank` axes that is
/// stored in `layout`: missing axes are inserted ones.
[[nodiscard]] Layout broadcast_layout(const Layout& layout, std::size_t rank, std::size_t own);

/// The layout of the result of a Reshape from `from` (stored in `layout`) to `to` that leaves the
/// bytes where they are; empty if there is none. Axes are grouped into the shortest runs of equal
/// products; the axes of a run must lie together and in order.
[[nodiscard]] std::optional<Layout> reshaped_layout(const Layout& layout, const Shape& from,
                                                    const Shape& to);

/// The layout of the result of an ONNX Transpose by `perm` that leaves the bytes where they are.
[[nodiscard]] Layout transposed_layout(const Layout& layout, const std::vector<std::int64_t>& perm);

/// "nhwc", "nchw", "0231"
[[nodiscard]] std::string layout_name(const Layout& layout);

}  // namespace halfstep::qnn
