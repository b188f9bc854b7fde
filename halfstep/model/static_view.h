#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/model/graph_index.h"

namespace halfstep {

/// A constant as a reader sees it: itself, or behind Identity, Cast (between float types) and
/// Transpose nodes that only move its values.
struct StaticView {
  const onnx::TensorProto* root = nullptr;  ///< the constant
  std::string root_name{};                  ///< the tensor that holds it
  std::vector<int> nodes{};                 ///< from the root to the reader; empty: read as it is
  std::vector<std::int64_t> axes{};         ///< axis i of the view is axis axes[i] of the root
  [[nodiscard]] bool direct() const noexcept { return nodes.empty(); }
};

/// Empty if `tensor` is no constant behind such nodes. Linear in the length of the chain, which is
/// cut off after 16 nodes.
[[nodiscard]] std::optional<StaticView> static_view(const GraphIndex& graph,
                                                    std::string_view tensor);

/// The constant behind `tensor`, or null.
[[nodiscard]] const onnx::TensorProto* static_constant(const GraphIndex& graph,
                                                       std::string_view tensor);

/// May `node` stand between a constant and its reader in a StaticView?
[[nodiscard]] bool is_view_step(const onnx::NodeProto& node);

/// The order in which a Transpose of `rank` axes reads them: its `perm`, by default reversed. Empty
/// if `perm` is no order of these axes.
[[nodiscard]] std::optional<std::vector<std::int64_t>> transpose_order(const onnx::NodeProto& node,
                                                                       std::size_t rank);

}  // namespace halfstep
