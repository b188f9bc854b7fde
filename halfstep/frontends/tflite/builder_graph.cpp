#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "halfstep/frontends/tflite/builder.h"
#include "halfstep/frontends/tflite/ops.h"
#include "halfstep/frontends/tflite/resize.h"
#include "halfstep/support/error.h"

namespace halfstep::tflite {

Ints to_channels_first(std::size_t rank) {
  Ints order{0, static_cast<std::int64_t>(rank) - 1};
  for (std::size_t k = 1; k + 1 < rank; ++k) {
    order.push_back(static_cast<std::int64_t>(k));
  }
  order.resize(rank);
  return order;
}

Ints to_source(std::size_t rank) {
  Ints order{0};
  for (std::size_t k = 2; k < rank; ++k) {
    order.push_back(static_cast<std::int64_t>(k));
  }
  order.push_back(1);
  order.resize(rank);
  return order;
}

std::int64_t axis_in(Layout layout, std::int64_t axis, std::size_t rank) {
  if (layout == Layout::source || axis == 0) {
    return axis;
  }
  return axis + 1 == static_cast<std::int64_t>(rank) ? 1 : axis + 1;
}

Shape permuted(const Shape& shape, const Ints& order) {
  Shape result;
  for (const std::int64_t axis : order) {
    result.push_back(shape.at(static_cast<std::size_t>(axis)));
  }
  return result;
}

std::int64_t checked_axis(std::int64_t axis, std::size_t rank) {
  const auto end = static_cast<std::int64_t>(rank);
  if (axis < -end || axis >= end) {
    damaged("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(rank) + " axes");
  }
  return axis < 0 ? axis + end : axis;
}

void require_rank(const Tensor& tensor, std::size_t rank) {
  if (tensor.shape.size() != rank || std::any_of(tensor.shape.begin(), tensor.shape.end(),
                                                 [](std::int64_t size) { return size <= 0; })) {
    refuse("tensor '" + tensor.name + "' has " + std::to_string(tensor.shape.size()) +
           " axes or unknown extents, expected " + std::to_string(rank) + " known ones");
  }
}

std::int64_t extent(const Tensor& tensor, std::size_t axis) {
  if (axis >= tensor.shape.size()) {
    damaged("tensor '" + tensor.name + "' has no axis " + std::to_string(axis));
  }
  return tensor.shape[axis];
}

void refuse(const std::string& why) { throw Error(ErrorKind::unsupported, why); }

void Builder::add_type(onnx::ValueInfoProto& info, const std::string& name, const Tensor& tensor) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_type(tensor.quantized() ? Type::float32 : tensor.type));
  auto& shape = *type.mutable_shape();
  for (const std::int64_t size : tensor.shape) {
    auto& dimension = *shape.add_dim();
    if (size >= 0) {
      dimension.set_dim_value(size);
    }
  }
}

void Builder::define_inputs() {
  for (const int i : file_.inputs) {
    const Tensor& tensor = this->tensor(i);
    auto& value = values_[static_cast<std::size_t>(i)];
    if (value || tensor.constant) {
      damaged("tensor '" + tensor.name + "' is an input twice, or a constant");
    }
    if (std::any_of(tensor.shape.begin(), tensor.shape.end(),
                    [](std::int64_t size) { return size <= 0; })) {
      refuse("input '" + tensor.name + "' has an extent of 0 or none at all");
    }
    add_type(*graph_.add_input(), tensor.name, tensor);
    scope_ = tensor.name;
    std::string name = tensor.name;
    if (tensor.quantized()) {
      name = fresh(tensor.name + "_dequantized");
      quantize(tensor, tensor.name, name);
    }
    value = {.name = name, .layout = Layout::source};
  }
}

void Builder::define_outputs() {
  std::set<int> written;
  if (file_.outputs.empty()) {
    damaged("its graph has no outputs");
  }
  for (const int i : file_.outputs) {
    Tensor tensor = this->tensor(i);
    if (!written.insert(i).second) {
      continue;  // the same values a second time
    }
    const bool input = std::find(file_.inputs.begin(), file_.inputs.end(), i) != file_.inputs.end();
    const auto& value = values_[static_cast<std::size_t>(i)];
    if (tensor.dynamic) {
      std::fill(tensor.shape.begin(), tensor.shape.end(), -1);
    }
    std::string name = tensor.name;
    if (tensor.constant || input) {
      // A name of its own: an input or a constant keeps its.
      name = fresh(tensor.name + "_output");
      rename(tensor.constant ? read_constant(i, {}, tensor.shape) : value->name, name);
    } else if (!value) {
      damaged("output '" + tensor.name + "' is never computed");
    }
    add_type(*graph_.add_output(), name, tensor);
  }
}

namespace {

std::unordered_map<std::string, int> count_readers(const onnx::GraphProto& graph) {
  std::unordered_map<std::string, int> readers;
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.input()) {
      ++readers[name];
    }
  }
  for (const auto& output : graph.output()) {
    ++readers[output.name()];
  }
  return readers;
}

}  // namespace

// A copy of a dequantized value that nobody else reads: the value takes the name of the copy.
void Builder::skip_identities() {
  const auto readers = count_readers(graph_);
  std::unordered_map<std::string, onnx::NodeProto*> dequantized;
  std::set<std::string> quantized_again;
  for (auto& node : *graph_.mutable_node()) {
    if (node.op_type() == "QuantizeLinear") {
      quantized_again.insert(node.input(0));
    }
    if (node.op_type() == "DequantizeLinear") {
      dequantized[node.output(0)] = &node;
    }
  }
  auto& nodes = *graph_.mutable_node();
  int kept = 0;
  for (int i = 0; i < nodes.size(); ++i) {
    const onnx::NodeProto& node = nodes[i];
    const bool copy = node.op_type() == "Identity";
    const auto from = copy ? dequantized.find(node.input(0)) : dequantized.end();
    // Of a value that gets another encoding, the copy is the tensor that the new one belongs to.
    const bool followed =
        copy && readers.contains(node.output(0)) && !quantized_again.contains(node.output(0));
    if (from != dequantized.end() && readers.at(node.input(0)) == 1 && followed) {
      from->second->set_output(0, node.output(0));
      dequantized.emplace(node.output(0), from->second);
      continue;
    }
    nodes.SwapElements(kept++, i);
  }
  nodes.DeleteSubrange(kept, nodes.size() - kept);
}

void Builder::drop_unread() {
  std::set<std::string> read;
  for (const auto& output : graph_.output()) {
    read.insert(output.name());
  }
  auto& nodes = *graph_.mutable_node();
  std::vector<bool> used(static_cast<std::size_t>(nodes.size()), false);
  for (int i = nodes.size() - 1; i >= 0; --i) {
    const bool wanted = std::any_of(nodes[i].output().begin(), nodes[i].output().end(),
                                    [&read](const auto& name) { return read.contains(name); });
    if (wanted) {
      used[static_cast<std::size_t>(i)] = true;
      read.insert(nodes[i].input().begin(), nodes[i].input().end());
    }
  }
  int kept = 0;
  for (int i = 0; i < nodes.size(); ++i) {
    if (used[static_cast<std::size_t>(i)]) {
      nodes.SwapElements(kept++, i);
    }
  }
  nodes.DeleteSubrange(kept, nodes.size() - kept);
  auto& constants = *graph_.mutable_initializer();
  kept = 0;
  for (int i = 0; i < constants.size(); ++i) {
    if (read.contains(constants[i].name())) {
      constants.SwapElements(kept++, i);
    }
  }
  constants.DeleteSubrange(kept, constants.size() - kept);
}

void Builder::name_nodes() {
  for (auto& node : *graph_.mutable_node()) {
    node.set_name(node.output(0));
  }
}

namespace {

void check_type(const Tensor& result, int inferred) {
  const int expected = onnx_type(result.quantized() ? Type::float32 : result.type);
  if (inferred != 0 && inferred != expected) {
    const auto name = [](int type) {
      return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(type));
    };
    throw Error(ErrorKind::invalid_file, "makes '" + result.name + "' of type " + name(inferred) +
                                             ", the file says " + name(expected));
  }
}

}  // namespace

void Builder::settle_shape(Tensor& result, const Shape& inferred) {
  const bool known =
      std::all_of(inferred.begin(), inferred.end(), [](std::int64_t size) { return size >= 0; });
  if (resized_) {
    result.shape = inferred;
    result.dynamic = !known;
  } else if (known && !result.dynamic && !result.shape.empty() && result.shape != inferred) {
    throw Error(ErrorKind::invalid_file, "makes '" + result.name + "' of the extents " +
                                             to_text(inferred) + ", the file says " +
                                             to_text(result.shape));
  }
}

void Builder::infer_results(const Operator& op) {
  inference_.advance(graph_);
  for (const int i : op.outputs) {
    Tensor& result = file_.tensors[static_cast<std::size_t>(i)];
    const auto& value = values_[static_cast<std::size_t>(i)];
    if (value) {
      check_type(result, inference_.type(value->name));
    }
    const Shape* inferred = value ? inference_.shape(value->name) : nullptr;
    if (inferred != nullptr) {
      settle_shape(result, value->layout == Layout::source
                               ? *inferred
                               : permuted(*inferred, to_source(inferred->size())));
    } else if (value && resized_) {
      result.dynamic = true;
    }
  }
}

void Builder::run(const Operator& op) {
  const std::string name = op.custom.empty() ? operator_name(op.code) : op.custom;
  scope_ = op.outputs.empty() ? name : tensor(op.outputs[0]).name;
  try {
    if (resized_ && !op.outputs.empty()) {
      resize_result(*this, op, file_.tensors[static_cast<std::size_t>(op.outputs[0])]);
    }
    read_operator(*this, op);
    infer_results(op);
  } catch (const Error& error) {
    throw error.within("operator " + std::to_string(op.index) + " (" + name + ", writes '" +
                       scope_ + "')");
  }
}

// No newer than what is there needs: engines trip over int8 activations at opset 21.
void Builder::set_opset() {
  int version = 18;  // axes of reductions as an input, Split with num_outputs
  int ir_version = 8;
  for (const auto& node : graph_.node()) {
    if (node.op_type() == "Gelu") {
      version = std::max(version, 20);
      ir_version = std::max(ir_version, 9);
    }
  }
  for (const auto& constant : graph_.initializer()) {
    const auto type = constant.data_type();
    using onnx::TensorProto;
    const bool narrow = type == TensorProto::INT4 || type == TensorProto::UINT4;
    if (narrow || type == TensorProto::INT16 || type == TensorProto::UINT16) {
      version = 21;
      ir_version = 10;
    }
  }
  model_.set_ir_version(ir_version);
  auto& opset = *model_.add_opset_import();
  opset.set_domain("");
  opset.set_version(version);
}

onnx::ModelProto Builder::take() {
  define_outputs();
  skip_identities();
  drop_unread();
  name_nodes();
  set_opset();
  const auto say = [this](const std::string& key, const std::string& value) {
    auto& entry = *model_.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  };
  if (!file_.signature.empty()) {
    say("tflite.signature", file_.signature);
  }
  for (const SignatureName& entry : file_.signature_inputs) {
    say("tflite.signature.input." + entry.name, tensor(entry.tensor).name);
  }
  for (const SignatureName& entry : file_.signature_outputs) {
    say("tflite.signature.output." + entry.name, tensor(entry.tensor).name);
  }
  return std::move(model_);
}

}  // namespace halfstep::tflite
