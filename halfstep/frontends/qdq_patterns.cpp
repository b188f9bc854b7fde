#include "halfstep/frontends/qdq_patterns.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace halfstep {

std::string own_name(const GraphIndex& index, const EncodingTable& table, const std::string& stored,
                     const std::string& read) {
  for (const std::string_view ending : {"_quantized", "_quant", "_q"}) {
    if (stored.size() <= ending.size() || !stored.ends_with(ending)) {
      continue;
    }
    const std::string name = stored.substr(0, stored.size() - ending.size());
    const bool free = index.producer(name) < 0 && index.constant(name) == nullptr &&
                      !index.is_graph_input(name) && !index.is_graph_output(name) &&
                      index.consumers(name).empty() && table.find(name) == nullptr;
    if (free && read.starts_with(name)) {
      return name;
    }
  }
  return read;
}

int barrier_behind(const Model& model, const GraphIndex& index, const std::string& name,
                   const Shape& shape) {
  const auto consumers = index.consumers(name);
  if (consumers.size() != 1 || consumers[0].slot != 0 || index.is_graph_output(name)) {
    return -1;
  }
  const onnx::NodeProto& reader = index.graph().node(consumers[0].node);
  const bool ours = reader.op_type() == "Reshape" && reader.input_size() == 2 &&
                    name.starts_with(reader.output(0) + "_dequantized");
  const onnx::TensorProto* wanted = ours ? index.constant(reader.input(1)) : nullptr;
  if (wanted == nullptr || wanted->data_type() != onnx::TensorProto::INT64) {
    return -1;
  }
  const std::vector<float> extents = model.floats(*wanted);
  const bool same = std::equal(extents.begin(), extents.end(), shape.begin(), shape.end(),
                               [](float a, std::int64_t b) { return a == static_cast<float>(b); });
  return same ? consumers[0].node : -1;
}

bool is_cast(const GraphIndex& index, const Consumer& reader, int to) {
  if (reader.slot != 0) {
    return false;
  }
  const onnx::NodeProto& node = index.graph().node(reader.node);
  return node.op_type() == "Cast" && int_attribute(node, "to", 0) == to;
}

int narrowing_behind(const GraphIndex& index, const std::string& name) {
  const auto consumers = index.consumers(name);
  const bool ours = consumers.size() == 1 && !index.is_graph_output(name) &&
                    name.find("_float32") != std::string::npos;
  return ours && is_cast(index, consumers[0], onnx::TensorProto::FLOAT16) ? consumers[0].node : -1;
}

}  // namespace halfstep
