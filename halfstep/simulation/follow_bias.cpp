#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/simulation/fixed_point.h"
#include "halfstep/simulation/follow.h"

namespace halfstep::simulation {

void follow_bias(Following& following, int product, const std::vector<float>& unit) {
  const onnx::NodeProto& op = following.node(product);
  if (op.input_size() < 3 || !following.is_constant_operand(op.input(2))) {
    return;
  }
  const std::optional<Codes> codes = following.operand(op.input(2));
  const onnx::NodeProto& dequantize = following.node(following.index.producer(op.input(2)));
  const onnx::TensorProto& stored = *following.index.constant(dequantize.input(0));
  // With a scale a channel the backend cuts by another rule, which is not known.
  if (!codes || codes->type != onnx::TensorProto::INT32 || unit.size() != 1) {
    return;
  }
  std::vector<float> values = following.model.floats(stored);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float worth = unit[unit.size() == 1 ? 0 : i];
    const float scale = codes->scales[codes->scales.size() == 1 ? 0 : i];
    values[i] = bias_count(values[i], scale, worth) * worth;
  }
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const std::string name = following.names.fresh(op.input(2) + "_counts");
  following.editor.add_initializer(name, Dtype::float32, shape_of(stored), std::move(bytes));
  following.editor.set_input(product, 2, name);
}

}  // namespace halfstep::simulation
