#pragma once

#include <string_view>

#include "halfstep/adaptation/adapt.h"
#include "halfstep/encodings/encoding_table.h"
#include "halfstep/outputs/qnn/graph_text.h"
#include "halfstep/target_graph.h"
#include "halfstep/targets/target.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {

/// A model adapted to a target and lowered. Tensors without encoding become float16.
inline qnn::LoweredGraph lowered(Model model, EncodingTable encodings = {},
                                 const char* target_name = "htp_v75") {
  const Target target = Target::load(target_name);
  Diagnostics diagnostics;
  const AdaptResult adapted =
      adapt(model, std::move(encodings), target, {.fallback = true}, diagnostics);
  return target_graph(model, adapted.encodings, adapted.inner, target);
}

inline qnn::LoweredGraph lowered(std::string_view text, EncodingTable encodings = {}) {
  return lowered(model_from_text(text), std::move(encodings));
}

inline Encoding uint8_of(float scale, std::int64_t zero_point = 0) {
  return {.dtype = Dtype::uint8, .scale = {scale}, .zero_point = {zero_point}};
}

}  // namespace halfstep
