#include "halfstep/frontends/tflite/builder.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "halfstep/frontends/tflite/content.h"
#include "halfstep/model/node_metadata.h"

namespace halfstep::tflite {
namespace {

onnx::AttributeProto& attribute(onnx::NodeProto& node, const char* name,
                                onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& result = *node.add_attribute();
  result.set_name(name);
  result.set_type(type);
  return result;
}

/// Are all axes between batch and channels of extent 1?
bool flat(const Shape& shape) {
  return std::all_of(shape.begin() + 1, shape.end() - 1,
                     [](std::int64_t size) { return size == 1; });
}

/// Do targets compute this operator and its activation as one? Where they don't, the value between
/// them needs an encoding too. That of the result changes nothing: rounding to its grid and cutting
/// off at 0, 6 or the ends of the grid may be done in either order.
bool fuses(const Operator& op, const Tensor& made) {
  constexpr std::array kFused = {0, 3, 9, 67};  // ADD, CONV_2D, FULLY_CONNECTED, TRANSPOSE_CONV
  constexpr int kDepthwise = 4;
  return std::find(kFused.begin(), kFused.end(), op.code) != kFused.end() ||
         (op.code == kDepthwise && made.type == Type::uint8);
}

constexpr int kDequantize = 6;

}  // namespace

NodeRef& NodeRef::set(const char* name, std::int64_t value) {
  attribute(*node_, name, onnx::AttributeProto::INT).set_i(value);
  return *this;
}

NodeRef& NodeRef::set(const char* name, float value) {
  attribute(*node_, name, onnx::AttributeProto::FLOAT).set_f(value);
  return *this;
}

NodeRef& NodeRef::set(const char* name, const char* value) {
  attribute(*node_, name, onnx::AttributeProto::STRING).set_s(value);
  return *this;
}

NodeRef& NodeRef::set(const char* name, const Ints& values) {
  auto& target = *attribute(*node_, name, onnx::AttributeProto::INTS).mutable_ints();
  target.Add(values.begin(), values.end());
  return *this;
}

NodeRef& NodeRef::arithmetic(std::string_view role) {
  set_metadata(*node_, kArithmeticKey, role);
  return *this;
}

Builder::Builder(File& file, Diagnostics& diagnostics, bool resized)
    : file_(file),
      diagnostics_(diagnostics),
      graph_(*model_.mutable_graph()),
      values_(file.tensors.size()),
      is_output_(file.tensors.size(), false),
      resized_(resized) {
  model_.set_producer_name(file.description.empty() ? "TensorFlow Lite" : file.description);
  graph_.set_name("main");
  // What constants may take together: each a few times, in different orders.
  budget_ = std::uint64_t{1} << 26U;
  std::set<const std::byte*> seen;
  for (const Tensor& tensor : file_.tensors) {
    names_.insert(tensor.name);
    if (seen.insert(tensor.data.data()).second) {
      budget_ += 16 * tensor.data.size();
    }
  }
  for (const int i : file_.outputs) {
    is_output_[static_cast<std::size_t>(i)] = true;
  }
  define_inputs();
}

const Tensor& Builder::tensor(int i) const {
  if (i < 0 || static_cast<std::size_t>(i) >= file_.tensors.size()) {
    damaged("an operand is missing");
  }
  return file_.tensors[static_cast<std::size_t>(i)];
}

const Tensor& Builder::input(const Operator& op, std::size_t slot) const {
  if (slot >= op.inputs.size()) {
    damaged("an operand is missing");
  }
  return tensor(op.inputs[slot]);
}

const Tensor& Builder::output(const Operator& op, std::size_t slot) const {
  if (slot >= op.outputs.size()) {
    damaged("a result is missing");
  }
  return tensor(op.outputs[slot]);
}

bool Builder::has_input(const Operator& op, std::size_t slot) const {
  return slot < op.inputs.size() && op.inputs[slot] >= 0;
}

Ints Builder::integers(const Operator& op, std::size_t slot) const {
  const Tensor& operand = input(op, slot);
  if (!operand.constant) {
    if (count(operand.dynamic ? Shape{} : operand.shape) == 0) {
      return {};
    }
    refuse("operand '" + operand.name + "' is computed, expected a constant");
  }
  // Beyond any extent: converters write the largest integer for "to the end".
  constexpr std::int64_t kFar = std::int64_t{1099511627776};  // 2^40
  Ints values = integer_values(operand);
  for (std::int64_t& value : values) {
    value = std::clamp(value, -kFar, kFar);
  }
  return values;
}

std::vector<float> Builder::floats(int i) const { return float_values(tensor(i)); }

void Builder::note(const char* rule, const std::string& subject, const std::string& message) {
  diagnostics_.push_back(
      {.severity = Severity::warning, .rule = rule, .subject = subject, .message = message});
}

std::string Builder::fresh(const std::string& base) {
  if (names_.insert(base).second) {
    return base;
  }
  for (std::size_t i = 2;; ++i) {
    std::string name = base + "_" + std::to_string(i);
    if (names_.insert(name).second) {
      return name;
    }
  }
}

NodeRef Builder::node(const char* type, const Names& inputs, int outputs) {
  onnx::NodeProto& result = *graph_.add_node();
  result.set_op_type(type);
  for (const std::string& name : inputs) {
    result.add_input(name);
  }
  for (int i = 0; i < outputs; ++i) {
    const std::string name = fresh(scope_ + "_" + type);
    result.add_output(name);
    made_[name] = &result;
  }
  return NodeRef(result);
}

std::string Builder::transpose(const std::string& value, const Ints& order) {
  return node("Transpose", {value}).set("perm", order).out();
}

std::string Builder::reshape(const std::string& value, const Shape& shape) {
  return node("Reshape", {value, constant(shape)}).out();
}

Layout Builder::layout(int i) const {
  const auto& value = values_.at(static_cast<std::size_t>(std::max(i, 0)));
  return i >= 0 && value ? value->layout : Layout::source;
}

Layout Builder::layout(const Operator& op, std::size_t slot) const {
  return has_input(op, slot) ? layout(op.inputs[slot]) : Layout::source;
}

std::string Builder::read(const Operator& op, std::size_t slot, Layout layout) {
  const Tensor& operand = input(op, slot);
  if (operand.constant) {
    const Ints order = layout == Layout::source ? Ints{} : to_channels_first(operand.shape.size());
    return read_constant(op.inputs[slot], order, operand.shape);
  }
  return read_value(op.inputs[slot], layout);
}

std::string Builder::read_value(int i, Layout layout) {
  const auto& value = values_[static_cast<std::size_t>(i)];
  const Tensor& operand = tensor(i);
  if (!value) {
    if (operand.variable) {
      refuse("operand '" + operand.name + "' keeps its content from run to run");
    }
    damaged("tensor '" + operand.name + "' is read before it is computed");
  }
  if (value->layout == layout) {
    return value->name;
  }
  std::string& moved = moved_[{value->name, static_cast<int>(layout)}];
  if (moved.empty()) {
    const std::size_t rank = operand.shape.size();
    if (rank < 3) {
      damaged("tensor '" + operand.name + "' has " + std::to_string(rank) +
              " axes, its reader needs 3 or more");
    }
    const bool first = layout == Layout::channels_first;
    const std::string result = fresh(operand.name + (first ? "_channels_first" : "_channels_last"));
    rename(move(value->name, operand, layout), result);
    moved = result;
    if (operand.quantized()) {
      moved = fresh(result + "_dequantized");
      quantize(operand, result, moved);
    }
  }
  return moved;
}

// With one channel, or one place between batch and channels, nothing moves in memory.
std::string Builder::move(const std::string& value, const Tensor& tensor, Layout layout) {
  const Shape& shape = tensor.shape;
  const bool first = layout == Layout::channels_first;
  const Ints order = first ? to_channels_first(shape.size()) : to_source(shape.size());
  if (!tensor.dynamic && (shape.back() == 1 || flat(shape))) {
    return reshape(value, first ? permuted(shape, order) : shape);
  }
  return transpose(value, order);
}

std::string Builder::read_permuted(const Operator& op, std::size_t slot, const Ints& order) {
  const Tensor& operand = input(op, slot);
  if (operand.constant) {
    return read_constant(op.inputs[slot], order, operand.shape);
  }
  std::string moved = transpose(read(op, slot), order);
  if (!operand.quantized()) {
    return moved;
  }
  // The move has the encoding of what it moves.
  const std::string back = fresh(moved + "_dequantized");
  made_.erase(moved);
  quantize(operand, moved, back);
  return back;
}

std::string Builder::read_reshaped(const Operator& op, std::size_t slot, const Shape& shape,
                                   const Ints& order) {
  const Tensor& operand = input(op, slot);
  if (operand.constant) {
    return read_constant(op.inputs[slot], order, shape);
  }
  const std::string value = reshape(read(op, slot), shape);
  return order.empty() ? value : transpose(value, order);
}

void Builder::rename(const std::string& value, const std::string& name) {
  const auto found = made_.find(value);
  if (found == made_.end()) {
    onnx::NodeProto& copy = *graph_.add_node();
    copy.set_op_type("Identity");
    copy.add_input(value);
    copy.add_output(name);
    return;
  }
  for (auto& out : *found->second->mutable_output()) {
    if (out == value) {
      out = name;
    }
  }
  made_.erase(found);
}

void Builder::quantize(const Tensor& tensor, const std::string& value, const std::string& result) {
  if (tensor.scale.size() > 1) {
    refuse("tensor '" + tensor.name + "' is computed and has a scale for each channel");
  }
  if (tensor.type == Type::int32 || tensor.type == Type::int64) {
    // ONNX has no QuantizeLinear to these; their steps are far below what float32 can tell.
    rename(value, result);
    return;
  }
  const auto [scale, zero] = parameters(tensor, tensor.type, tensor.name);
  const std::string integers = fresh(tensor.name + "_quantized");
  rename(node("QuantizeLinear", {value, scale, zero}).out(), integers);
  const NodeRef back = node("DequantizeLinear", {integers, scale, zero});
  rename(back.out(), result);
}

std::string Builder::activate(const std::string& value, int activation) {
  switch (activation) {
    case 0:
      return value;
    case 1:
      return node("Relu", {value}).out();
    case 2:
      return node("Clip", {value, scalar(-1.0F), scalar(1.0F)}).out();
    case 3:
      return node("Clip", {value, scalar(0.0F), scalar(6.0F)}).out();
    case 4:
      return node("Tanh", {value}).out();
    default:
      refuse("its fused activation " + std::to_string(activation) + " is not known");
  }
}

void Builder::finish(const Operator& op, std::size_t slot, std::string value, Layout layout,
                     int activation) {
  const Tensor& made = output(op, slot);
  const auto i = static_cast<std::size_t>(op.outputs[slot]);
  if (values_[i] || made.constant) {
    damaged("tensor '" + made.name + "' is computed twice");
  }
  if (layout != Layout::source && made.shape.size() < 3) {
    damaged("tensor '" + made.name + "' has too few axes for what computes it");
  }
  if (activation >= 1 && activation <= 3 && made.quantized() && !fuses(op, made)) {
    const std::string inner = fresh(made.name + "_before_activation");
    rename(value, inner);
    value = fresh(inner + "_dequantized");
    quantize(made, inner, value);
  }
  value = activate(value, activation);
  const bool moved = is_output_[i] && layout != Layout::source;
  const bool ends_here = is_output_[i] && !moved;
  const std::string result = moved ? fresh(made.name + "_channels_first") : made.name;
  if (!made.quantized()) {
    rename(value, result);
    values_[i] = {.name = result, .layout = layout};
  } else {
    const std::string real = ends_here ? fresh(made.name + "_float") : result;
    const std::string back = ends_here ? made.name : fresh(result + "_dequantized");
    rename(value, real);
    quantize(made, real, back);
    values_[i] = {.name = back, .layout = layout};
  }
  if (!moved) {
    return;
  }
  const std::string turned = move(read_value(op.outputs[slot], layout), made, Layout::source);
  if (made.quantized()) {
    const std::string real = fresh(made.name + "_float");
    rename(turned, real);
    quantize(made, real, made.name);
  } else {
    rename(turned, made.name);
  }
}

void Builder::forward(const Operator& op) {
  const Tensor& made = output(op);
  const auto i = static_cast<std::size_t>(op.outputs[0]);
  const Layout layout = this->layout(op, 0);
  const std::string value = read(op, 0, layout);
  const bool again = input(op, 0).quantized() && made.quantized();
  if (is_output_[i] || again || values_[i] || made.constant) {
    finish(op, 0, value, layout);
    return;
  }
  if (!made.quantized()) {
    values_[i] = {.name = value, .layout = layout};
    return;
  }
  const std::string back = fresh(made.name + "_dequantized");
  quantize(made, value, back);
  values_[i] = {.name = back, .layout = layout};
}

void Builder::forward_constant(const Operator& op, Type type, std::vector<std::byte> content) {
  const Tensor from = input(op, 0);
  static_cast<void>(output(op));  // there is one
  const auto i = static_cast<std::size_t>(op.outputs[0]);
  Tensor& made = file_.tensors[i];
  if (values_[i] || made.constant) {
    damaged("tensor '" + made.name + "' is computed twice");
  }
  made.type = type;
  made.dequantized = op.code == kDequantize && !is_float(type);
  made.shape = from.shape;
  if (type == from.type) {
    made.scale = from.scale;
    made.zero_point = from.zero_point;
    made.axis = from.axis;
  }
  stored_ += content.size();
  if (stored_ > budget_) {
    damaged("its operators copy the same constants over and over");
  }
  made.owner = std::make_shared<const std::vector<std::byte>>(std::move(content));
  made.data = *made.owner;
  made.constant = true;
}

}  // namespace halfstep::tflite
