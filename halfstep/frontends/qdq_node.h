#pragma once

#include <optional>
#include <string>

#include <onnx/onnx_pb.h>

#include "halfstep/encodings/encoding.h"
#include "halfstep/model/graph_index.h"

namespace halfstep {

[[nodiscard]] bool is_quantize(const onnx::NodeProto& node);
[[nodiscard]] bool is_dequantize(const onnx::NodeProto& node);
/// A Clip that belongs to the QuantizeLinear behind it (kSaturateMark).
[[nodiscard]] bool is_saturate(const onnx::NodeProto& node);

/// What a QuantizeLinear or DequantizeLinear says, or why an encoding can't say it.
struct QdqMeaning {
  std::optional<Encoding> encoding{};
  bool narrow = false;  ///< the codes are of a type narrower than the stored one (kDtypeKey)
  std::string reason{};
};
/// `tensor`: the one whose readers show which axis holds channels; empty: the node's output.
[[nodiscard]] QdqMeaning qdq_meaning(const Model& model, const GraphIndex& index,
                                     const onnx::NodeProto& node, const std::string& tensor = {});

}  // namespace halfstep
