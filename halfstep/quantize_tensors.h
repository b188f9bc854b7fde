#pragma once

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/frontends/safetensors.h"
#include "halfstep/pipeline.h"

namespace halfstep {

/// What quantize_tensors() made.
struct TensorsResult {
  QuantizeSummary summary;
  EncodingTable encodings;  ///< only if an encodings file was asked for
  Diagnostics diagnostics;
};

/// Weights without a graph, from safetensors to packed safetensors: every float tensor of two or
/// more axes is quantized as the recipe says of weights, unless a rule on its name says otherwise;
/// everything else is copied. The last axis is the one that is summed over (Linear stores
/// [out, in]): blocks lie along it. Channels are axis 0; of a stack [n, out, in], whose last axis
/// has 32 values or more, every row is one. Streams tensor by tensor, whatever their size; a folder
/// keeps its division into files. Nothing appears before everything succeeded.
/// Errors: invalid_argument for what needs a graph (a recipe with activations, rules on nodes,
/// encodings, a target), for a rule that matches no tensor (with the closest name); unsupported for
/// a type that the format can't say; nothing_to_do if no tensor would change; io.
[[nodiscard]] TensorsResult quantize_tensors(const SafeTensorsModel& model,
                                             const QuantizeRequest& request, Progress& progress);

}  // namespace halfstep
