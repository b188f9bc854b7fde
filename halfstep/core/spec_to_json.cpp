#include <cstdint>
#include <optional>
#include <variant>

#include "halfstep/core/spec.h"

namespace halfstep {
namespace {

Json axis_json(const std::optional<std::int64_t>& axis) { return axis ? Json(*axis) : Json(); }

Json bound_json(const std::optional<double>& bound) { return bound ? Json(*bound) : Json(); }

}  // namespace

Json to_json(const Granularity& granularity) {
  Json json = Json::object();
  if (std::holds_alternative<PerTensor>(granularity)) {
    json["type"] = "per_tensor";
  } else if (const auto* channel = std::get_if<PerChannel>(&granularity)) {
    json["type"] = "per_channel";
    json["axis"] = axis_json(channel->axis);
  } else if (const auto* blocks = std::get_if<PerBlock>(&granularity)) {
    json["type"] = "per_block";
    json["axis"] = axis_json(blocks->axis);
    // One size reads back as one size, whether it was written `n` or `(n,)`; -1 only as `(-1,)`.
    const bool single = blocks->block_size.size() == 1 && blocks->block_size[0] > 0;
    json["block_size"] = single ? Json(blocks->block_size[0]) : Json(blocks->block_size);
  } else {
    const Lpbq& lpbq = std::get<Lpbq>(granularity);
    json["type"] = "lpbq";
    json["axis"] = axis_json(lpbq.axis);
    json["block_size"] = lpbq.block_size;
    json["channel_axis"] = axis_json(lpbq.channel_axis);
    json["decompressed_bits"] = lpbq.decompressed_bits;
  }
  return json;
}

Json to_json(const QuantizationSpec& spec) {
  Json json = Json::object();
  json["dtype"] = name(spec.dtype);
  json["qscheme"] = name(spec.qscheme);
  json["qformulation"] = name(spec.qformulation);
  json["granularity"] = to_json(spec.granularity);
  json["fake_quantize_cls"] = spec.fake_quantize_cls;
  json["qparam_calculator_cls"] = spec.qparam_calculator_cls;
  json["range_calculator_cls"] = spec.range_calculator_cls;
  json["float_range"] = Json::array({bound_json(spec.float_min), bound_json(spec.float_max)});
  json["scale_dtype"] = spec.scale_dtype ? Json(name(*spec.scale_dtype)) : Json();
  json["eps"] = spec.eps;
  json["averaging_constant"] = spec.averaging_constant;
  json["policy"] = name(spec.policy);
  json["e8m0_mode"] = name(spec.e8m0_mode);
  json["uneven_blocks"] =
      spec.uneven_blocks == UnevenBlocks::by_policy ? Json() : Json(name(spec.uneven_blocks));
  if (!spec.extra.empty()) {
    json["extra"] = spec.extra;
  }
  return json;
}

}  // namespace halfstep
