#include <string>
#include <variant>

#include "halfstep/core/quantize.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::invalid_argument, "granularity " + message);
}

std::size_t checked_axis(const std::optional<std::int64_t>& axis, const Shape& shape,
                         const char* type) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (!axis) {
    fail(std::string(type) + " has no axis for a tensor of shape " + to_text(shape) +
         "; name one, or let the op choose it");
  }
  if (*axis < -rank || *axis >= rank) {
    fail(std::string(type) + ": axis " + std::to_string(*axis) + " is outside a tensor of shape " +
         to_text(shape) + "; expected " + std::to_string(-rank) + " to " +
         std::to_string(rank - 1));
  }
  return static_cast<std::size_t>(*axis < 0 ? *axis + rank : *axis);
}

void set_block(UnitGrid& grid, std::size_t axis, std::int64_t block, bool pad) {
  const std::int64_t extent = grid.shape[axis];
  if (block <= 0) {
    fail("block size " + std::to_string(block) + " along axis " + std::to_string(axis) +
         "; a size must be > 0");
  }
  if (extent % block != 0 && !pad) {
    fail("block size " + std::to_string(block) + " does not divide axis " + std::to_string(axis) +
         " (extent " + std::to_string(extent) + ") of a tensor of shape " + to_text(grid.shape) +
         "; choose a divisor, another granularity for this tensor, or uneven_blocks \"pad\"");
  }
  grid.counts[axis] = (extent + block - 1) / block;
  grid.sizes[axis] = block;
}

UnitGrid whole_tensor(const Shape& shape) {
  return {.shape = shape, .counts = Shape(shape.size(), 1), .sizes = shape};
}

UnitGrid per_channel_grid(const PerChannel& channel, const Shape& shape) {
  UnitGrid grid = whole_tensor(shape);
  const std::size_t axis = checked_axis(channel.axis, shape, "per_channel");
  grid.counts[axis] = shape[axis];
  grid.sizes[axis] = 1;
  return grid;
}

/// Blocks along one axis. Of the other axes a weight splits only 0 and 1 into single positions: a
/// convolution kernel lies inside one block; an activation splits them all.
UnitGrid one_axis_grid(const std::optional<std::int64_t>& block_axis, std::int64_t block,
                       const Shape& shape, Role role, bool pad) {
  UnitGrid grid = whole_tensor(shape);
  const std::size_t axis = checked_axis(block_axis, shape, "per_block");
  set_block(grid, axis, block, pad);
  const std::size_t split = role == Role::activation ? shape.size() : std::size_t{2};
  for (std::size_t i = 0; i < shape.size() && i < split; ++i) {
    if (i != axis) {
      grid.counts[i] = shape[i];
      grid.sizes[i] = 1;
    }
  }
  return grid;
}

UnitGrid all_axes_grid(const PerBlock& blocks, const Shape& shape, bool pad) {
  if (blocks.block_size.size() != shape.size()) {
    fail("per_block: block_size " + to_text(blocks.block_size) + " has " +
         std::to_string(blocks.block_size.size()) + " entries for a tensor of shape " +
         to_text(shape) + "; expected one for each axis");
  }
  UnitGrid grid = whole_tensor(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (blocks.block_size[axis] != -1) {
      set_block(grid, axis, blocks.block_size[axis], pad);
    }
  }
  return grid;
}

UnitGrid per_block_grid(const PerBlock& blocks, const Shape& shape, Role role, bool pad) {
  if (!blocks.axis && blocks.block_size.size() == 1 && shape.size() != 1) {
    return one_axis_grid(blocks.axis, blocks.block_size[0], shape, role,
                         pad);  // says what's missing
  }
  if (!blocks.axis) {
    return all_axes_grid(blocks, shape, pad);
  }
  if (blocks.block_size.size() != 1) {
    fail("per_block: axis " + std::to_string(*blocks.axis) + " with block_size " +
         to_text(blocks.block_size) +
         "; give one size for that axis, or one for each axis and no axis");
  }
  return one_axis_grid(blocks.axis, blocks.block_size[0], shape, role, pad);
}

bool divides(std::int64_t block, std::int64_t extent) {
  return block <= 0 || extent % block == 0;  // -1 is the whole axis; others are an error anyway
}

}  // namespace

bool has_uneven_blocks(const Granularity& granularity, const Shape& shape) noexcept {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto uneven_along = [&](const std::optional<std::int64_t>& axis, std::int64_t block) {
    if (!axis || *axis < -rank || *axis >= rank) {
      return false;
    }
    return !divides(block, shape[static_cast<std::size_t>(*axis < 0 ? *axis + rank : *axis)]);
  };
  if (const auto* lpbq = std::get_if<Lpbq>(&granularity)) {
    return uneven_along(lpbq->axis, lpbq->block_size);
  }
  const auto* blocks = std::get_if<PerBlock>(&granularity);
  if (blocks == nullptr) {
    return false;
  }
  if (blocks->axis) {
    return blocks->block_size.size() == 1 && uneven_along(blocks->axis, blocks->block_size[0]);
  }
  if (blocks->block_size.size() != shape.size()) {
    return false;
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!divides(blocks->block_size[axis], shape[axis])) {
      return true;
    }
  }
  return false;
}

UnitGrid unit_grid(const Granularity& granularity, const Shape& shape, Role role, bool pad) {
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      fail("can't split a tensor of shape " + to_text(shape) + "; every extent must be >= 0");
    }
  }
  if (const auto* channel = std::get_if<PerChannel>(&granularity)) {
    return per_channel_grid(*channel, shape);
  }
  if (const auto* blocks = std::get_if<PerBlock>(&granularity)) {
    return per_block_grid(*blocks, shape, role, pad);
  }
  if (const auto* lpbq = std::get_if<Lpbq>(&granularity)) {
    return one_axis_grid(lpbq->axis, lpbq->block_size, shape, role, pad);
  }
  return whole_tensor(shape);
}

UnitGrid unit_grid(const ResolvedSpec& spec, const Shape& shape) {
  const bool pad = uneven_blocks(spec.spec()) == UnevenBlocks::pad;
  return unit_grid(spec->granularity, shape, spec.role(), pad);
}

bool UnitGrid::uneven() const noexcept {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (counts[axis] * sizes[axis] != shape[axis]) {
      return true;
    }
  }
  return false;
}

}  // namespace halfstep
