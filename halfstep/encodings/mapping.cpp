// Encoding <-> Mapping: what is known of a tensor, tied to one shape and back.
#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "halfstep/encodings/encoding.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

/// Blocks written as one size per axis, so that the grid does not depend on a role.
Granularity explicit_blocks(const Encoding& encoding) {
  const auto* blocks = std::get_if<PerBlock>(&encoding.granularity);
  if (blocks == nullptr || !blocks->axis) {
    return encoding.granularity;
  }
  PerBlock result{};
  for (std::size_t i = 0; i < encoding.shape.size(); ++i) {
    const bool blocked = i == static_cast<std::size_t>(*blocks->axis);
    result.block_size.push_back(blocked                  ? blocks->block_size.at(0)
                                : encoding.shape[i] == 1 ? -1
                                                         : 1);
  }
  return result;
}

/// The type that codes of `dtype` are computed in: ONNX and our kernels know no uint32, whose codes
/// are those of int32 moved by 2^31.
Dtype code_dtype(Dtype dtype) { return dtype == Dtype::uint32 ? Dtype::int32 : dtype; }

std::int32_t code_zero_point(const Encoding& encoding, std::size_t i) {
  const std::int64_t zero_point = encoding.zero_point.empty() ? 0 : encoding.zero_point[i];
  const std::int64_t shift = encoding.dtype == Dtype::uint32 ? std::int64_t{1} << 31 : 0;
  return static_cast<std::int32_t>(zero_point - shift);
}

ResolvedSpec spec_of(const Encoding& encoding, Role role) {
  const bool minval = encoding.half_step || !encoding.minval.empty();
  const bool plain = is_floating(encoding.dtype) || encoding.symmetric();
  return resolve({.dtype = code_dtype(encoding.dtype),
                  .qscheme = plain ? Scheme::symmetric : Scheme::asymmetric,
                  .qformulation = minval ? Formulation::minval : Formulation::zp,
                  .granularity = explicit_blocks(encoding),
                  .policy = Policy::safe},
                 role);
}

/// Steps along the units for a walk over `shape` in row-major order that returns, for each unit,
/// the index of its channel.
std::vector<std::size_t> channels_of_units(const Shape& shape, std::size_t channel_axis) {
  std::vector<std::size_t> result(static_cast<std::size_t>(element_count(shape)));
  const auto stride = static_cast<std::size_t>(row_major_strides(shape)[channel_axis]);
  const auto extent = static_cast<std::size_t>(shape[channel_axis]);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = i / stride % extent;
  }
  return result;
}

void fill_lpbq(const Encoding& encoding, const Lpbq& lpbq, QParams& qparams) {
  qparams.block_scale = encoding.block_scale;
  qparams.channel_scale = encoding.scale;
  const auto channels =
      channels_of_units(encoding.shape, static_cast<std::size_t>(*lpbq.channel_axis));
  for (std::size_t i = 0; i < channels.size(); ++i) {
    qparams.scale.push_back(static_cast<float>(encoding.block_scale[i]) *
                            encoding.scale[channels[i]]);
    qparams.zero_point.push_back(code_zero_point(encoding, channels[i]));
  }
}

std::optional<std::int64_t> normal_axis(const std::optional<std::int64_t>& axis,
                                        const UnitGrid& grid) {
  if (axis) {
    return *axis < 0 ? *axis + static_cast<std::int64_t>(grid.shape.size()) : *axis;
  }
  for (std::size_t i = 0; i < grid.counts.size(); ++i) {
    if (grid.counts[i] > 1) {
      return static_cast<std::int64_t>(i);
    }
  }
  return 0;
}

/// Granularity with axes filled in and not negative.
Granularity normal_granularity(const Granularity& granularity, const UnitGrid& grid) {
  if (const auto* channel = std::get_if<PerChannel>(&granularity)) {
    return PerChannel{.axis = normal_axis(channel->axis, grid)};
  }
  if (const auto* blocks = std::get_if<PerBlock>(&granularity)) {
    if (!blocks->axis && blocks->block_size.size() == grid.shape.size()) {
      return *blocks;
    }
    return PerBlock{.axis = normal_axis(blocks->axis, grid), .block_size = blocks->block_size};
  }
  if (const auto* lpbq = std::get_if<Lpbq>(&granularity)) {
    Lpbq result = *lpbq;
    result.axis = normal_axis(lpbq->axis, grid);
    result.channel_axis = normal_axis(lpbq->channel_axis, grid);
    return result;
  }
  return granularity;
}

}  // namespace

Encoding encoding_of(const Mapping& mapping, Origin origin) {
  const QuantizationSpec& spec = mapping.spec.spec();
  const QParams& qparams = mapping.qparams;
  Encoding encoding{.dtype = spec.dtype,
                    .granularity = normal_granularity(spec.granularity, mapping.grid),
                    .origin = origin};
  if (std::holds_alternative<PerChannel>(encoding.granularity)) {
    encoding.shape = {mapping.grid.units()};
  } else if (!std::holds_alternative<PerTensor>(encoding.granularity)) {
    encoding.shape = mapping.grid.counts;
  }
  const bool lpbq = std::holds_alternative<Lpbq>(encoding.granularity);
  encoding.scale = lpbq ? qparams.channel_scale : qparams.scale;
  if (spec.qformulation == Formulation::minval) {
    encoding.minval = qparams.minval;
  }
  if (lpbq) {
    encoding.block_scale = qparams.block_scale;
    encoding.zero_point.assign(encoding.scale.size(), 0);
  } else if (is_integer(spec.dtype)) {
    encoding.zero_point.assign(qparams.zero_point.begin(), qparams.zero_point.end());
  }
  return encoding;
}

Mapping bind(const Encoding& encoding, const Shape& shape, Role role) {
  require(!encoding.is_float(), "a float encoding has no mapping; it needs no quantization");
  validate(encoding, shape);
  const ResolvedSpec spec = spec_of(encoding, role);
  Mapping mapping{.spec = spec, .grid = unit_grid(spec->granularity, shape, role), .qparams = {}};
  QParams& qparams = mapping.qparams;
  if (const auto* lpbq = std::get_if<Lpbq>(&encoding.granularity)) {
    fill_lpbq(encoding, *lpbq, qparams);
    return mapping;
  }
  qparams.scale = encoding.scale;
  qparams.minval = encoding.minval;
  for (std::size_t i = 0; i < encoding.scale.size(); ++i) {
    qparams.zero_point.push_back(code_zero_point(encoding, i));
  }
  if (encoding.half_step) {
    // A zero point between two steps is a grid that starts half a step higher.
    for (std::size_t i = 0; i < encoding.scale.size(); ++i) {
      const double start = spec.quant_min() - qparams.zero_point[i] + 0.5;
      qparams.minval.push_back(static_cast<float>(start * encoding.scale[i]));
    }
  }
  return mapping;
}

}  // namespace halfstep
