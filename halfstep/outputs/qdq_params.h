#pragma once

#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/encodings/encoding.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/outputs/onnx_storage.h"

namespace halfstep {

/// The inputs and attributes that QuantizeLinear and DequantizeLinear of one encoding share.
struct QdqParams {
  std::string scale{}, zero_point{};
  std::optional<std::int64_t> axis{};
  std::int64_t block_size = 0;
  Dtype scale_type = Dtype::float32;
  std::string dtype{};        ///< narrow_type() of the encoding
  std::string low{}, high{};  ///< the values that the codes end at; empty: those of the stored type
  /// LPBQ: the DequantizeLinear that makes the scale, to be inserted before the first use.
  std::optional<onnx::NodeProto> scale_node{};
};

/// Adds scale and zero point of an encoding as initializers `<base>_scale` and `<base>_zero_point`;
/// LPBQ: `<base>_block_scale` and `<base>_channel_scale`, with the node that multiplies them.
/// Shapes: block scales are repeated over the axes that a block covers, since ONNX Runtime demands
/// it. `scale_type` is float32, or float8_e8m0fnu if every scale is a power of two.
[[nodiscard]] QdqParams add_params(GraphEditor& editor, NameMaker& names, const std::string& base,
                                   const Encoding& encoding, const Shape& shape,
                                   Dtype scale_type = Dtype::float32);

/// Sets `low` and `high` of an activation whose codes are narrower than the type that stores them.
/// Formula: low = (lowest code - zero_point) * scale, high likewise
void add_bounds(GraphEditor& editor, NameMaker& names, const std::string& base,
                const Encoding& encoding, QdqParams& params);

/// The Clip between them.
[[nodiscard]] onnx::NodeProto saturate_node(NameMaker& names, const std::string& base,
                                            const QdqParams& params, const std::string& input,
                                            const std::string& output);
[[nodiscard]] onnx::NodeProto quantize_node(NameMaker& names, const std::string& base,
                                            const QdqParams& params, const std::string& input,
                                            const std::string& output);
[[nodiscard]] onnx::NodeProto dequantize_node(NameMaker& names, const std::string& base,
                                              const QdqParams& params, const std::string& input,
                                              const std::string& output);
/// `shape` is an initializer.
[[nodiscard]] onnx::NodeProto reshape_node(NameMaker& names, const std::string& base,
                                           const std::string& input, const std::string& shape,
                                           const std::string& output);
[[nodiscard]] onnx::NodeProto cast_node(NameMaker& names, const std::string& base,
                                        const std::string& input, const std::string& output,
                                        int elem_type);

}  // namespace halfstep
