#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/simulation/fixed_point.h"
#include "halfstep/simulation/follow.h"

namespace halfstep::simulation {

void follow_bias(Following& following, int node, int slot, const std::vector<float>& unit) {
  const onnx::NodeProto& op = following.node(node);
  if (op.input_size() <= slot || !following.is_constant_operand(op.input(slot))) {
    return;
  }
  const std::string bias = op.input(slot);
  const std::optional<Codes> codes = following.operand(bias);
  const onnx::NodeProto& dequantize = following.node(following.index.producer(bias));
  const onnx::TensorProto& stored = *following.index.constant(dequantize.input(0));
  if (!codes || codes->type != onnx::TensorProto::INT32) {
    return;
  }
  std::vector<float> values = following.model.floats(stored);
  if (unit.size() == 1) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = bias_count(values[i], codes->scales[codes->scales.size() == 1 ? 0 : i], unit[0]);
    }
  } else if (values.size() == unit.size()) {
    channel_bias_counts(values, std::ranges::max(unit));
  } else {
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= unit[unit.size() == 1 ? 0 : i];
  }
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const std::string name = following.names.fresh(bias + "_counts");
  following.editor.add_initializer(name, Dtype::float32, shape_of(stored), std::move(bytes));
  following.editor.set_input(node, slot, name);
}

}  // namespace halfstep::simulation
