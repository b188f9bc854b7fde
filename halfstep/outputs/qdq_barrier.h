#pragma once

#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_index.h"

namespace halfstep {

/// Would ONNX Runtime, with all optimizations, fuse this use of a quantized constant into an
/// integer operator that can't have it? A Reshape to the same shape behind the DequantizeLinear
/// stops the fusion and copies nothing. All of them need a quantized activation beside the
/// constant:
///   2-bit types          QLinearConv and QLinearMatMul don't take them: the model does not load
///   8-bit blocks of Conv QLinearConv takes no block scales: the run fails
///   MatMul, 16 bits      with a 16-bit activation, MatMulNBits rounds that to 8 bits a block
///   bias, Gemm           QGemm ignores the bias scale and takes input scale x weight scale
/// Source: measured with ONNX Runtime 1.32.0 (tests/unit/qdq_runs).
[[nodiscard]] bool engine_misreads(const EncodingTable& table, const GraphIndex& index,
                                   const Encoding& encoding, const Consumer& consumer);

}  // namespace halfstep
