#include "halfstep/support/tensor_view.h"

namespace halfstep {

std::int64_t element_count(std::span<const std::int64_t> shape) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

Shape row_major_strides(std::span<const std::int64_t> shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

std::string to_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    if (text.size() > 1) {
      text += ", ";
    }
    text += std::to_string(extent);
  }
  return text + "]";
}

}  // namespace halfstep
