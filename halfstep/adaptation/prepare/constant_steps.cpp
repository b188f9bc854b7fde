#include "halfstep/adaptation/prepare/constant_steps.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "halfstep/model/model.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"
#include "halfstep/model/values.h"

namespace halfstep {
namespace {

using Numbers = std::vector<std::int64_t>;

std::optional<Shape> reshaped(const Shape& shape, const Numbers& wanted, bool allow_zero) {
  Shape result;
  std::int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::int64_t extent = wanted[i];
    if (extent == 0 && !allow_zero) {
      if (i >= shape.size()) {
        return std::nullopt;
      }
      extent = shape[i];
    }
    if (extent < -1 || (extent == -1 && open >= 0)) {
      return std::nullopt;
    }
    if (extent == -1) {
      open = static_cast<std::ptrdiff_t>(i);
    } else {
      known *= extent;
    }
    result.push_back(extent);
  }
  const std::int64_t count = element_count(shape);
  if (open >= 0) {
    if (known == 0 || count % known != 0) {
      return std::nullopt;
    }
    result[static_cast<std::size_t>(open)] = count / known;
    known = count;
  }
  return known == count ? std::optional(result) : std::nullopt;
}

/// `axes` counted from the front of a tensor of `rank` axes; empty if one is outside or doubled.
std::optional<std::set<std::int64_t>> axis_set(const Numbers& axes, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  std::set<std::int64_t> result;
  for (const std::int64_t axis : axes) {
    if (axis < -count || axis >= count || !result.insert(axis < 0 ? axis + count : axis).second) {
      return std::nullopt;
    }
  }
  return result;
}

std::optional<Shape> squeezed(const Shape& shape, const Numbers& given, bool all) {
  const auto axes = axis_set(given, shape.size());
  if (!axes) {
    return std::nullopt;
  }
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool listed = axes->contains(static_cast<std::int64_t>(i));
    if (listed && shape[i] != 1) {
      return std::nullopt;
    }
    if (!(listed || (all && shape[i] == 1))) {
      result.push_back(shape[i]);
    }
  }
  return result;
}

std::optional<Shape> unsqueezed(const Shape& shape, const Numbers& given) {
  const auto axes = axis_set(given, shape.size() + given.size());
  if (!axes) {
    return std::nullopt;
  }
  Shape result;
  auto next = shape.begin();
  for (std::size_t i = 0; i < shape.size() + given.size(); ++i) {
    result.push_back(axes->contains(static_cast<std::int64_t>(i)) ? 1 : *next++);
  }
  return result;
}

std::optional<Shape> flattened(const Shape& shape, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis < -rank || axis > rank) {
    return std::nullopt;
  }
  const auto split = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  const std::span<const std::int64_t> all(shape);
  return Shape{element_count(all.first(split)), element_count(all.subspan(split))};
}

/// The shape after a node that leaves the values in their order.
std::optional<Shape> shape_after(const ConstantStep& step, const Shape& shape) {
  const onnx::NodeProto& node = *step.node;
  const onnx::AttributeProto* attribute = find_attribute(node, "axes");
  const Numbers axes = attribute == nullptr
                           ? step.numbers
                           : Numbers(attribute->ints().begin(), attribute->ints().end());
  if (node.op_type() == "Reshape") {
    return reshaped(shape, step.numbers, int_attribute(node, "allowzero", 0) != 0);
  }
  if (node.op_type() == "Squeeze") {
    return squeezed(shape, axes, attribute == nullptr && node.input_size() < 2);
  }
  if (node.op_type() == "Unsqueeze") {
    return unsqueezed(shape, axes);
  }
  if (node.op_type() == "Flatten") {
    return flattened(shape, int_attribute(node, "axis", 1));
  }
  return shape;  // Identity
}

/// Copies the values of `from` in row-major order of the new axes; `stride[i]`: bytes from one
/// value to the next along new axis i.
void gather(const std::byte* from, std::byte* to, const Shape& shape, const Numbers& stride,
            std::size_t size) {
  Numbers index(shape.size(), 0);
  const std::int64_t count = element_count(shape);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * size, from + offset, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += stride[axis];
      if (++index[axis] < shape[axis]) {
        break;
      }
      offset -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

std::optional<ConstantValue> transposed(const onnx::NodeProto& node, ConstantValue value) {
  const auto order = transpose_order(node, value.shape.size());
  const int bits = element_bits(value.data_type);
  if (!order || bits % 8 != 0) {
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(bits / 8);
  Numbers stride(value.shape.size());
  auto step = static_cast<std::int64_t>(size);
  for (std::size_t axis = value.shape.size(); axis-- > 0;) {
    stride[axis] = step;
    step *= value.shape[axis];
  }
  ConstantValue result{.data_type = value.data_type, .shape = {}, .bytes = {}};
  Numbers strides;
  for (const std::int64_t axis : *order) {
    result.shape.push_back(value.shape[static_cast<std::size_t>(axis)]);
    strides.push_back(stride[static_cast<std::size_t>(axis)]);
  }
  result.bytes.resize(value.bytes.size());
  gather(value.bytes.data(), result.bytes.data(), result.shape, strides, size);
  return result;
}

std::optional<ConstantValue> converted(const onnx::NodeProto& node, ConstantValue value) {
  const auto to = static_cast<int>(int_attribute(node, "to", 0));
  if (!is_float_type(to) || element_bits(value.data_type) == 0) {
    return std::nullopt;
  }
  onnx::TensorProto tensor;
  tensor.set_data_type(value.data_type);
  for (const std::int64_t extent : value.shape) {
    tensor.add_dims(extent);
  }
  value.bytes = floats_as_bytes(bytes_as_floats(tensor, value.bytes), to);
  value.data_type = to;
  return value;
}

}  // namespace

bool is_constant_step(const onnx::NodeProto& node) {
  static constexpr std::array<std::string_view, 7> kSteps{
      "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Cast"};
  return is_onnx_domain(node) && node.input_size() >= 1 && !node.input(0).empty() &&
         node.output_size() == 1 && !node.output(0).empty() &&
         std::find(kSteps.begin(), kSteps.end(), node.op_type()) != kSteps.end();
}

std::optional<ConstantValue> apply_step(const ConstantStep& step, ConstantValue value) {
  if (step.node->op_type() == "Transpose") {
    return transposed(*step.node, std::move(value));
  }
  if (step.node->op_type() == "Cast") {
    return converted(*step.node, std::move(value));
  }
  auto shape = shape_after(step, value.shape);
  if (!shape) {
    return std::nullopt;
  }
  value.shape = *std::move(shape);
  return value;
}

}  // namespace halfstep
