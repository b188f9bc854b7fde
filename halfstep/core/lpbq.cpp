#include "halfstep/core/lpbq.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <variant>

#include "halfstep/support/error.h"

namespace halfstep::internal {
namespace {

std::size_t wrapped(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

std::size_t channel_axis(const Lpbq& lpbq, const UnitGrid& grid) {
  const std::size_t rank = grid.shape.size();
  const std::size_t block_axis = wrapped(*lpbq.axis, rank);  // unit_grid has checked it
  const std::size_t axis =
      lpbq.channel_axis ? wrapped(*lpbq.channel_axis, rank) : std::size_t{block_axis == 0};
  if (axis >= rank || axis == block_axis) {
    throw Error(ErrorKind::invalid_argument,
                "granularity lpbq: channel axis " + std::to_string(static_cast<long>(axis)) +
                    " with block axis " + std::to_string(block_axis) + " of a tensor of shape " +
                    to_text(grid.shape) + "; expected another axis of the tensor");
  }
  return axis;
}

/// Calls visit(unit, channel).
template <typename Visit>
void for_each_unit(const UnitGrid& grid, std::size_t axis, Visit visit) {
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < grid.counts.size(); ++i) {
    inner *= grid.counts[i];
  }
  const std::int64_t channels = grid.counts[axis];
  for (std::int64_t unit = 0; unit < grid.units(); ++unit) {
    visit(static_cast<std::size_t>(unit), static_cast<std::size_t>(unit / inner % channels));
  }
}

}  // namespace

QParams lpbq_qparams(const Ranges& ranges, const ResolvedSpec& spec, const UnitGrid& grid) {
  const Lpbq& lpbq = std::get<Lpbq>(spec->granularity);
  const std::size_t axis = channel_axis(lpbq, grid);
  const auto units = static_cast<std::size_t>(grid.units());
  const auto levels = static_cast<float>(1 << (lpbq.decompressed_bits - bits(spec->dtype)));
  const auto highest = static_cast<float>(spec.quant_max());
  const auto lowest = static_cast<float>(spec.quant_min());
  QParams qparams;
  qparams.scale.resize(units);
  qparams.zero_point.resize(units, 0);
  qparams.block_scale.resize(units);
  qparams.channel_scale.resize(static_cast<std::size_t>(grid.counts[axis]), 0.0F);
  std::vector<float>& wanted = qparams.scale;
  for_each_unit(grid, axis, [&](std::size_t unit, std::size_t channel) {
    wanted[unit] = std::max(
        {ranges.max[unit] / highest, ranges.min[unit] / lowest, static_cast<float>(spec->eps)});
    float& largest = qparams.channel_scale[channel];
    largest = std::max(largest, wanted[unit]);
  });
  for (float& scale : qparams.channel_scale) {
    scale /= levels;
  }
  for_each_unit(grid, axis, [&](std::size_t unit, std::size_t channel) {
    const float scale = qparams.channel_scale[channel];
    const float steps = std::clamp(std::rint(wanted[unit] / scale), 1.0F, levels);
    qparams.block_scale[unit] = static_cast<std::int32_t>(steps);
    qparams.scale[unit] = steps * scale;
  });
  return qparams;
}

}  // namespace halfstep::internal
