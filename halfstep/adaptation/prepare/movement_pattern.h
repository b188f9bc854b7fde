#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/model/graph_index.h"

namespace halfstep {

/// An operator that only moves data, as several nodes of a graph that do the same.
struct MovementPattern {
  std::string op{};          ///< "ChannelShuffle", "BatchToSpace", "SpaceToBatch"
  std::vector<int> nodes{};  ///< in order; each reads in input 0 what the one before writes
  std::size_t rank = 0;
  std::int64_t axis = 0, groups = 0;  ///< of ChannelShuffle
  std::vector<std::int64_t> block_size{};
  std::vector<std::int64_t>
      margins{};               ///< crops or pads: begin, end of rows, begin, end of columns
  bool channels_last = false;  ///< of the other two: [N, H, W, C]
};

/// The operator that the nodes from `first` on compute, if it is one of these:
///   ChannelShuffle  axis C as (g, C/g), the two swapped
///   BatchToSpace    [b0 b1 N, H, W, C] -> [N, H b0, W b1, C], then crops; also [b0 b1 N, C, H, W]
///   SpaceToBatch    pads with zeros, then the way back
/// It does not matter by which Reshape, Transpose, Squeeze, Unsqueeze, Flatten, DepthToSpace,
/// SpaceToDepth, Slice and Pad nodes it is done: where the axes are brought counts (AxisAtoms).
/// Every tensor between must have one reader and be no output of the graph. Shapes and bounds are
/// constant or known by inference; one extent (the batch) may be unknown.
/// Source: QNN operator definitions; the forms that TFLite and TensorFlow models get as ONNX.
[[nodiscard]] std::optional<MovementPattern> find_movement(const Model& model,
                                                           const GraphIndex& graph, int first);

}  // namespace halfstep
