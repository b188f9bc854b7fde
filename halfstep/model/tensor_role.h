#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "halfstep/model/graph_index.h"

namespace halfstep {

/// What a tensor is to the operators that read it.
struct TensorRole {
  bool constant = false;
  bool weight = false;           ///< some operator takes it as its weight
  bool bias = false;             ///< some operator takes it as its bias
  std::optional<Shape> shape{};  ///< empty: not even the rank is known; -1: unknown extent
  /// Not negative. Of a weight as its first operator has them; of other constants axis 0 and none.
  std::optional<std::int64_t> channel_axis{}, block_axis{};
};

[[nodiscard]] TensorRole tensor_role(const GraphIndex& index, std::string_view tensor);

}  // namespace halfstep
