#pragma once

#include <set>
#include <string>

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/model.h"
#include "halfstep/outputs/qdq_stream.h"
#include "halfstep/support/diagnostic.h"

namespace halfstep {

struct QdqOptions {
  int threads = 1;
  /// Keep ONNX Runtime's CPU provider from fusions that compute something else than the encodings
  /// say (a Reshape to the same shape behind the DequantizeLinear). Providers of other chips fuse
  /// by themselves and need the plain pattern.
  bool engine_barriers = true;
  /// Tensors inside super groups that get a pair in the file only: it is marked, and
  /// extract_qdq() leaves it out.
  std::set<std::string> inner_pairs{};
  /// Weights whose values are looked at when the model is written.
  WeightStreams streams{};
};

/// Rewrites a float model so that every tensor with an integer or float8 encoding passes through
/// QuantizeLinear / DequantizeLinear: activations get Q and DQ behind their producer (of a
/// quantized graph output `y` the producer's tensor becomes `y_float`, the DequantizeLinear writes
/// `y`), constants are stored as integers (packed below 8 bits) behind a DequantizeLinear; int32
/// biases likewise; large ones are quantized when the model is written. A use with its own encoding
/// gets its own pair. LPBQ: the scale is itself the output of a DequantizeLinear. The opset is
/// raised when the types need it (per channel 13, int16 / int4 / blocks 21, int2 25). Names the
/// user gave never change. Errors: unsupported naming the tensor if ONNX cannot say an encoding;
/// invalid_argument if an encoding does not fit its tensor (naming it).
void write_qdq(Model& model, const EncodingTable& table, const QdqOptions& options,
               Diagnostics& diagnostics);

}  // namespace halfstep
