#include "halfstep/adaptation/bias.h"

#include <algorithm>
#include <vector>

namespace halfstep {
namespace {

/// Scale of each output channel of the weight.
std::vector<double> channel_scales(const Encoding& weight, const WeightFacts& facts,
                                   std::size_t channels) {
  std::vector<double> scales(channels, 0.0);
  const std::size_t repeat =
      static_cast<std::size_t>(std::max<std::int64_t>(1, facts.channel_repeat));
  const std::size_t extent = std::max<std::size_t>(1, channels / repeat);
  std::size_t inner = 1;
  if (weight.shape.size() > 1 && weight.scale.size() != extent) {
    const auto axis =
        static_cast<std::size_t>(normalized_axis(facts.channel_axis, weight.shape.size()));
    for (std::size_t i = axis + 1; i < weight.shape.size(); ++i) {
      inner *= static_cast<std::size_t>(weight.shape[i]);
    }
  }
  for (std::size_t i = 0; i < weight.scale.size(); ++i) {
    const std::size_t channel = weight.scale.size() == extent ? i : (i / inner) % extent;
    for (std::size_t group = 0; group < repeat && group * extent + channel < channels; ++group) {
      double& scale = scales[group * extent + channel];
      scale = std::max(scale, static_cast<double>(weight.scale[i]));
    }
  }
  return scales;
}

}  // namespace

Encoding product_bias_encoding(const Encoding& input, const Encoding& weight,
                               const WeightFacts& facts, std::size_t channels) {
  const double input_scale = input.scale[0];
  Encoding bias{.dtype = Dtype::int32, .origin = Origin::adapted};
  if (weight.scale.size() == 1) {
    bias.scale = {static_cast<float>(input_scale * static_cast<double>(weight.scale[0]))};
  } else {
    bias.granularity = PerChannel{.axis = 0};
    bias.shape = {static_cast<std::int64_t>(channels)};
    for (const double scale : channel_scales(weight, facts, channels)) {
      bias.scale.push_back(static_cast<float>(input_scale * scale));
    }
  }
  bias.zero_point.assign(bias.scale.size(), 0);
  return bias;
}

}  // namespace halfstep
