#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "halfstep/encodings/weight_stream.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"
#include "halfstep/outputs/qdq_params.h"

namespace halfstep {

/// Weights that are measured and quantized while the model is written, by tensor. In the table of
/// encodings they have their outline().
using WeightStreams = std::map<std::string, std::shared_ptr<WeightStream>, std::less<>>;

/// Smaller tensors are quantized at once: their codes take no memory to speak of.
inline constexpr std::size_t kStreamedBytes = std::size_t{64} << 10U;

/// Whether the values of a tensor can be read piece by piece, and are so large that it pays.
[[nodiscard]] bool is_streamable(const onnx::TensorProto& tensor);
/// The values of a streamable tensor, as the model keeps them; its pages go when they were used.
[[nodiscard]] FloatSource float_source(const Model& model, const onnx::TensorProto& tensor);

/// The codes of a stream, as they are written to a model. `where` stands in messages of errors.
[[nodiscard]] ByteProducer codes_of(std::shared_ptr<WeightStream> stream, std::string where);
/// add_params() for a stream: the values are made when the model is written.
[[nodiscard]] QdqParams add_params(GraphEditor& editor, NameMaker& names, const std::string& base,
                                   const std::shared_ptr<WeightStream>& stream);

}  // namespace halfstep
