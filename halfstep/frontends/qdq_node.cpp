#include "halfstep/frontends/qdq_node.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "halfstep/core/quantize.h"
#include "halfstep/model/node_metadata.h"
#include "halfstep/model/tensor_role.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

bool is_op(const onnx::NodeProto& node, const char* op_type) {
  const std::string& domain = node.domain();
  return node.op_type() == op_type && node.input_size() >= 2 && node.output_size() >= 1 &&
         (domain.empty() || domain == "ai.onnx" || domain == "com.microsoft");
}

/// Thrown while a node is read, caught before it leaves this file.
[[noreturn]] void keep(const std::string& reason) { throw Error(ErrorKind::unsupported, reason); }

std::string input(const onnx::NodeProto& node, int slot) {
  return slot < node.input_size() ? node.input(slot) : std::string();
}

std::vector<std::int64_t> integers(const Model& model, const onnx::TensorProto& tensor) {
  const auto dtype = dtype_from_onnx(tensor.data_type());
  if (!dtype || (!is_integer(*dtype) && !is_floating(*dtype))) {
    keep("its zero point is of type " + std::to_string(tensor.data_type()));
  }
  std::vector<std::int64_t> result;
  for (const float value : model.floats(tensor)) {
    result.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

/// Axes along which all parameters are equal, other than block and channel axis, shrink to one.
struct Blocks {
  Shape shape;
  std::vector<std::size_t> kept;  ///< index into the full list for each of `shape`
};

Blocks shrink(const Shape& full, const std::vector<bool>& shrinkable) {
  Blocks blocks;
  for (std::size_t i = 0; i < full.size(); ++i) {
    blocks.shape.push_back(shrinkable[i] ? 1 : full[i]);
  }
  const Shape strides = row_major_strides(full);
  const auto count = static_cast<std::size_t>(element_count(blocks.shape));
  const Shape small = row_major_strides(blocks.shape);
  for (std::size_t n = 0; n < count; ++n) {
    std::int64_t source = 0;
    for (std::size_t i = 0; i < full.size(); ++i) {
      const std::int64_t position = static_cast<std::int64_t>(n) / small[i] % blocks.shape[i];
      source += position * strides[i];
    }
    blocks.kept.push_back(static_cast<std::size_t>(source));
  }
  return blocks;
}

template <typename T>
bool constant_along(const std::vector<T>& values, const Shape& shape, std::size_t axis) {
  const auto stride = static_cast<std::size_t>(row_major_strides(shape)[axis]);
  const auto extent = static_cast<std::size_t>(shape[axis]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t first = i - (i / stride % extent) * stride;
    if (values[i] != values[first]) {
      return false;
    }
  }
  return true;
}

template <typename T>
void pick(std::vector<T>& values, const std::vector<std::size_t>& kept) {
  std::vector<T> result;
  for (const std::size_t i : kept) {
    result.push_back(values[i]);
  }
  values = std::move(result);
}

class MeaningReader {
 public:
  MeaningReader(const Model& model, const GraphIndex& index, const onnx::NodeProto& node,
                std::string tensor)
      : model_(model), index_(index), node_(node), tensor_(std::move(tensor)) {}

  [[nodiscard]] bool narrow() const noexcept { return narrow_; }

  Encoding read() {
    encoding_.origin = Origin::model;
    encoding_.dtype = marked_type(type());
    const std::string scale = input(node_, 1);
    if (const onnx::TensorProto* tensor = index_.constant(scale)) {
      if (tensor->data_type() != onnx::TensorProto::FLOAT &&
          tensor->data_type() != onnx::TensorProto::FLOAT16 &&
          tensor->data_type() != onnx::TensorProto::FLOAT8E8M0) {
        keep("its scale is none of float32, float16, float8e8m0");
      }
      scale_ = model_.floats(*tensor);
      scale_shape_ = shape_of(*tensor);
    } else {
      read_scale_node(scale);
    }
    read_zero_points();
    read_granularity();
    validate(encoding_, tensor_shape());
    return encoding_;
  }

 private:
  Dtype type() {
    int elem_type = onnx::TensorProto::UINT8;
    if (const onnx::TensorProto* zero_point = index_.constant(input(node_, 2))) {
      elem_type = zero_point->data_type();
    } else if (!input(node_, 2).empty()) {
      keep("its zero point is computed");
    } else if (is_dequantize(node_)) {
      elem_type = index_.type(input(node_, 0)).elem_type;
    } else {
      elem_type = static_cast<int>(int_attribute(node_, "output_dtype", elem_type));
    }
    const auto dtype = dtype_from_onnx(elem_type);
    if (!dtype) {
      keep("its type is unknown");
    }
    return *dtype;
  }

  /// The narrower type that the node is marked with, if it is one and holds all stored codes.
  Dtype marked_type(Dtype stored) {
    const std::string* mark = find_metadata(node_, kDtypeKey);
    const std::optional<Dtype> marked = mark != nullptr ? find_dtype(*mark) : std::nullopt;
    if (!marked || info(*marked).category != info(stored).category || !is_integer(stored) ||
        bits(*marked) >= bits(stored) || !holds_codes(*marked)) {
      return stored;
    }
    narrow_ = true;
    return *marked;
  }

  [[nodiscard]] bool holds_codes(Dtype dtype) const {
    const onnx::TensorProto* codes = index_.constant(input(node_, 0));
    if (codes == nullptr) {
      return true;
    }
    const std::vector<float> values = model_.floats(*codes);
    return std::ranges::all_of(values, [&info = info(dtype)](double value) {
      return value >= info.lowest && value <= info.highest;
    });
  }

  /// LPBQ: integer block scales behind a DequantizeLinear with the channels' scales.
  void read_scale_node(const std::string& scale) {
    const int producer = index_.producer(scale);
    if (producer < 0 || !is_dequantize(index_.graph().node(producer))) {
      keep("its scale is computed");
    }
    const onnx::NodeProto& inner = index_.graph().node(producer);
    const onnx::TensorProto* blocks = index_.constant(input(inner, 0));
    const onnx::TensorProto* channels = index_.constant(input(inner, 1));
    const onnx::TensorProto* zero = index_.constant(input(inner, 2));
    if (blocks == nullptr || channels == nullptr || channels->dims_size() != 1 ||
        find_attribute(inner, "block_size") != nullptr ||
        channels->data_type() != onnx::TensorProto::FLOAT) {
      keep("its scale is computed");
    }
    if (zero != nullptr) {
      const auto offsets = integers(model_, *zero);
      if (std::any_of(offsets.begin(), offsets.end(), [](auto v) { return v != 0; })) {
        keep("its scale has a zero point");
      }
    }
    scale_ = model_.floats(*channels);
    scale_shape_ = shape_of(*blocks);
    for (const std::int64_t value : integers(model_, *blocks)) {
      encoding_.block_scale.push_back(static_cast<std::int32_t>(value));
    }
    channel_axis_ = normal_axis(int_attribute(inner, "axis", 1), scale_shape_.size());
  }

  void read_zero_points() {
    const onnx::TensorProto* zero_point = index_.constant(input(node_, 2));
    if (zero_point == nullptr || !is_integer(encoding_.dtype)) {
      return;
    }
    encoding_.zero_point = integers(model_, *zero_point);
  }

  void read_granularity() {
    const std::int64_t block_size = int_attribute(node_, "block_size", 0);
    if (block_size > 0) {
      read_blocks(block_size);
      return;
    }
    if (!encoding_.block_scale.empty()) {
      keep("its scale is computed");
    }
    encoding_.scale = scale_;
    if (scale_.size() == 1) {
      fill_zero_points(1);
      return;
    }
    const std::size_t rank = tensor_shape().size();
    encoding_.granularity = PerChannel{.axis = normal_axis(int_attribute(node_, "axis", 1), rank)};
    encoding_.shape = {static_cast<std::int64_t>(scale_.size())};
    fill_zero_points(scale_.size());
  }

  void read_blocks(std::int64_t block_size) {
    const std::size_t rank = scale_shape_.size();
    const auto axis = static_cast<std::size_t>(normal_axis(int_attribute(node_, "axis", 1), rank));
    const bool lpbq = !encoding_.block_scale.empty();
    if (!lpbq) {
      fill_zero_points(scale_.size());
    }
    const auto channel = tensor_role(index_, tensor_).channel_axis;
    std::vector<bool> shrinkable(rank, false);
    for (std::size_t i = 0; i < rank; ++i) {
      const bool fixed = i == axis || (lpbq ? i == static_cast<std::size_t>(channel_axis_)
                                            : !channel || static_cast<std::int64_t>(i) == *channel);
      shrinkable[i] =
          !fixed && (lpbq ? constant_along(encoding_.block_scale, scale_shape_, i)
                          : constant_along(scale_, scale_shape_, i) &&
                                (encoding_.zero_point.empty() ||
                                 constant_along(encoding_.zero_point, scale_shape_, i)));
    }
    const Blocks blocks = shrink(scale_shape_, shrinkable);
    encoding_.shape = blocks.shape;
    encoding_.scale = scale_;
    const auto block_axis = static_cast<std::int64_t>(axis);
    if (lpbq) {
      pick(encoding_.block_scale, blocks.kept);
      set_lpbq(block_axis, block_size);
      return;
    }
    pick(encoding_.scale, blocks.kept);
    if (!encoding_.zero_point.empty()) {
      pick(encoding_.zero_point, blocks.kept);
    }
    encoding_.granularity = PerBlock{.axis = block_axis, .block_size = {block_size}};
  }

  void set_lpbq(std::int64_t axis, std::int64_t block_size) {
    const auto offset = [](std::int64_t value) { return value != 0; };
    if (std::any_of(encoding_.zero_point.begin(), encoding_.zero_point.end(), offset)) {
      keep("it has block scales and a zero point");
    }
    encoding_.zero_point.assign(encoding_.scale.size(), 0);
    const std::int32_t largest =
        *std::max_element(encoding_.block_scale.begin(), encoding_.block_scale.end());
    int decompressed = 2 * bits(encoding_.dtype);
    while ((1 << (decompressed - bits(encoding_.dtype))) < largest) {
      ++decompressed;
    }
    encoding_.granularity = Lpbq{.axis = axis,
                                 .block_size = block_size,
                                 .channel_axis = channel_axis_,
                                 .decompressed_bits = decompressed};
  }

  void fill_zero_points(std::size_t count) {
    if (encoding_.zero_point.empty() && is_integer(encoding_.dtype)) {
      encoding_.zero_point.assign(count, 0);
    }
    if (encoding_.zero_point.size() == 1 && count > 1) {
      encoding_.zero_point.assign(count, encoding_.zero_point[0]);
    }
  }

  [[nodiscard]] std::int64_t normal_axis(std::int64_t axis, std::size_t rank) const {
    const auto signed_rank = static_cast<std::int64_t>(rank);
    if (axis < -signed_rank || axis >= signed_rank) {
      keep("its axis lies outside the tensor, or the tensor's rank is unknown");
    }
    return axis < 0 ? axis + signed_rank : axis;
  }

  [[nodiscard]] Shape tensor_shape() const {
    if (const onnx::TensorProto* constant = index_.constant(input(node_, 0))) {
      return shape_of(*constant);
    }
    return index_.type(input(node_, 0)).shape.value_or(Shape{});
  }

  const Model& model_;
  const GraphIndex& index_;
  const onnx::NodeProto& node_;
  std::string tensor_;
  Encoding encoding_{};
  std::vector<float> scale_{};
  Shape scale_shape_{};
  std::int64_t channel_axis_ = 0;
  bool narrow_ = false;
};

}  // namespace

bool is_quantize(const onnx::NodeProto& node) { return is_op(node, "QuantizeLinear"); }
bool is_dequantize(const onnx::NodeProto& node) { return is_op(node, "DequantizeLinear"); }

bool is_saturate(const onnx::NodeProto& node) {
  const std::string* mark = find_metadata(node, kOpKey);
  return node.op_type() == "Clip" && node.input_size() > 0 && mark != nullptr &&
         *mark == kSaturateMark;
}

QdqMeaning qdq_meaning(const Model& model, const GraphIndex& index, const onnx::NodeProto& node,
                       const std::string& tensor) {
  try {
    MeaningReader reader(model, index, node, tensor.empty() ? node.output(0) : tensor);
    QdqMeaning meaning{.encoding = reader.read()};
    meaning.narrow = reader.narrow();
    return meaning;
  } catch (const Error& error) {
    return {.reason = error.what()};
  }
}

}  // namespace halfstep
