#include "halfstep/engines/engine.h"

#include <utility>

namespace halfstep {

Tensor make_tensor(Dtype dtype, Shape shape, std::vector<std::byte> bytes) {
  auto storage = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  Tensor tensor{.dtype = dtype, .shape = std::move(shape), .data = storage->data()};
  require(storage->size() == tensor.bytes(), "a " + std::string(name(dtype)) + " tensor of shape " +
                                                 to_text(tensor.shape) + " needs " +
                                                 std::to_string(tensor.bytes()) + " bytes (got " +
                                                 std::to_string(storage->size()) + ")");
  tensor.owner = std::move(storage);
  return tensor;
}

float WatchedValue::at(std::int64_t index) const noexcept {
  if (channel_block == 1) {
    return data[index];
  }
  const std::int64_t channels = shape[1];
  const std::int64_t blocks = (channels + channel_block - 1) / channel_block;
  std::int64_t inner = 1;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) {
    inner *= shape[axis];
  }
  const std::int64_t position = index % inner;
  const std::int64_t channel = index / inner % channels;
  const std::int64_t image = index / inner / channels;
  const std::int64_t block = image * blocks + channel / channel_block;
  return data[(block * inner + position) * channel_block + channel % channel_block];
}

}  // namespace halfstep
