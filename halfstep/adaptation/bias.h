#pragma once

#include "halfstep/encodings/encoding.h"
#include "halfstep/model/op_facts.h"

namespace halfstep {

/// The encoding of a bias that is added to the sums of an operator: int32, zero point 0, scale =
/// input scale x weight scale. `channels` values; one scale if the weight has one, else one per
/// output channel, of the largest of its blocks (LPBQ: its channel scale). A channel of a grouped
/// ConvTranspose serves several. Source: QAIRT quantization specification; QNN bias rule.
[[nodiscard]] Encoding product_bias_encoding(const Encoding& input, const Encoding& weight,
                                             const WeightFacts& facts, std::size_t channels);

}  // namespace halfstep
