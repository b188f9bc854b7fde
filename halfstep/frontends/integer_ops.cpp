#include "halfstep/frontends/integer_ops.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halfstep/frontends/matmul_nbits.h"
#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

constexpr std::string_view kContrib = "com.microsoft";

/// Where an operator has its quantized operands: value, scale, zero point of each.
struct IntegerOp {
  std::string_view op_type;
  std::string_view domain;  ///< empty: ai.onnx
  std::string_view float_op;
  std::array<int, 3> operands;  ///< first input of each operand's three; -1: none
  int result;         ///< input that holds the scale of the output; the next its zero point
  int bias;           ///< input with int32 codes of scale operand 0 x operand 1; -1: none
  bool list = false;  ///< operands repeat to the last input (Concat)
};

constexpr std::array kOps{
    IntegerOp{.op_type = "QLinearConv",
              .domain = "",
              .float_op = "Conv",
              .operands = {0, 3, -1},
              .result = 6,
              .bias = 8},
    IntegerOp{.op_type = "QLinearMatMul",
              .domain = "",
              .float_op = "MatMul",
              .operands = {0, 3, -1},
              .result = 6,
              .bias = -1},
    IntegerOp{.op_type = "QLinearMatMul",
              .domain = kContrib,
              .float_op = "MatMul",
              .operands = {0, 3, -1},
              .result = 6,
              .bias = -1},
    IntegerOp{.op_type = "QLinearConv",
              .domain = kContrib,
              .float_op = "Conv",
              .operands = {0, 3, -1},
              .result = 6,
              .bias = 8},
    IntegerOp{.op_type = "QGemm",
              .domain = kContrib,
              .float_op = "Gemm",
              .operands = {0, 3, -1},
              .result = 7,
              .bias = 6},
    IntegerOp{.op_type = "QLinearAdd",
              .domain = kContrib,
              .float_op = "Add",
              .operands = {0, 3, -1},
              .result = 6,
              .bias = -1},
    IntegerOp{.op_type = "QLinearMul",
              .domain = kContrib,
              .float_op = "Mul",
              .operands = {0, 3, -1},
              .result = 6,
              .bias = -1},
    IntegerOp{.op_type = "QLinearAveragePool",
              .domain = kContrib,
              .float_op = "AveragePool",
              .operands = {0, -1, -1},
              .result = 3,
              .bias = -1},
    IntegerOp{.op_type = "QLinearGlobalAveragePool",
              .domain = kContrib,
              .float_op = "GlobalAveragePool",
              .operands = {0, -1, -1},
              .result = 3,
              .bias = -1},
    IntegerOp{.op_type = "QLinearSigmoid",
              .domain = kContrib,
              .float_op = "Sigmoid",
              .operands = {0, -1, -1},
              .result = 3,
              .bias = -1},
    IntegerOp{.op_type = "QLinearLeakyRelu",
              .domain = kContrib,
              .float_op = "LeakyRelu",
              .operands = {0, -1, -1},
              .result = 3,
              .bias = -1},
    IntegerOp{.op_type = "QLinearSoftmax",
              .domain = kContrib,
              .float_op = "Softmax",
              .operands = {0, -1, -1},
              .result = 3,
              .bias = -1},
    IntegerOp{.op_type = "QLinearConcat",
              .domain = kContrib,
              .float_op = "Concat",
              .operands = {2, -1, -1},
              .result = 0,
              .bias = -1,
              .list = true},
};

/// Operators whose output holds input values unchanged, in whatever type.
constexpr std::array<std::string_view, 11> kMovers{"MaxPool", "Reshape",   "Transpose", "Flatten",
                                                   "Squeeze", "Unsqueeze", "Slice",     "Identity",
                                                   "Gather",  "Expand",    "Split"};

/// Operators with scales that are known at run time only.
constexpr std::array<std::string_view, 5> kRunTime{"DynamicQuantizeLinear", "MatMulInteger",
                                                   "ConvInteger", "MatMulIntegerToFloat",
                                                   "DynamicQuantizeMatMul"};

bool is_run_time_op(const onnx::NodeProto& node) {
  return std::find(kRunTime.begin(), kRunTime.end(), node.op_type()) != kRunTime.end();
}

const IntegerOp* find_op(const onnx::NodeProto& node) {
  const std::string_view domain = node.domain() == "ai.onnx" ? "" : std::string_view(node.domain());
  const auto* found = std::find_if(kOps.begin(), kOps.end(), [&](const IntegerOp& op) {
    return op.op_type == node.op_type() && op.domain == domain;
  });
  return found == kOps.end() ? nullptr : found;
}

std::string input(const onnx::NodeProto& node, int slot) {
  return slot >= 0 && slot < node.input_size() ? node.input(slot) : std::string();
}

/// Scale and zero point of a quantized tensor, as names of constants.
struct Params {
  std::string scale{}, zero_point{};
};

class Spelling {
 public:
  Spelling(Model& model, Diagnostics& diagnostics)
      : model_(model),
        diagnostics_(diagnostics),
        index_(model),
        names_(model.graph()),
        editor_(model) {}

  EncodingTable run() {
    for (int i = 0; i < index_.graph().node_size(); ++i) {
      visit(i);
    }
    editor_.apply();
    return std::move(table_);
  }

 private:
  void visit(int i) {
    const onnx::NodeProto& node = index_.graph().node(i);
    if (node.input_size() == 0 || node.output_size() == 0) {
      return;  // nobody checks operators of other domains
    }
    std::string reason;
    if (is_matmul_nbits(node)) {
      reason = spell_matmul_nbits(model_, index_, i, editor_, names_, table_);
    } else if (const IntegerOp* op = find_op(node)) {
      reason = spell(i, *op);
    } else if (is_run_time_op(node)) {
      reason = "its scales are known at run time only";
    } else if (is_onnx_domain(node) && node.op_type() == "QuantizeLinear") {
      known_[node.output(0)] = {.scale = input(node, 1), .zero_point = input(node, 2)};
    } else if (is_mover(i)) {
      move(i);
    }
    if (!reason.empty()) {
      diagnostics_.push_back({.severity = Severity::note,
                              .rule = "qdq/kept",
                              .subject = node.output(0),
                              .message = index_.label(i) + " stays in the graph: " + reason});
    }
  }

  [[nodiscard]] bool is_constant(const std::string& tensor) const {
    return index_.constant(tensor) != nullptr;
  }

  [[nodiscard]] std::int64_t scale_count(const onnx::NodeProto& node, int first) const {
    return element_count(shape_of(*index_.constant(input(node, first + 1))));
  }

  [[nodiscard]] std::string obstacle(const onnx::NodeProto& node, const IntegerOp& op,
                                     const std::vector<int>& operands) const {
    for (const int first : operands) {
      if (!is_constant(input(node, first + 1)) ||
          (!input(node, first + 2).empty() && !is_constant(input(node, first + 2)))) {
        return "a scale or zero point is computed";
      }
      if (scale_count(node, first) < 1) {
        return "a scale is empty";
      }
    }
    if (input(node, op.result).empty() && op.op_type != "QGemm") {
      return "the scale of its output is missing";
    }
    const bool product = op.float_op == "MatMul" || op.float_op == "Gemm";
    if (product && scale_count(node, operands[0]) > 1) {
      return "its left operand has a scale for each row";
    }
    if (!input(node, op.result).empty() && !is_constant(input(node, op.result))) {
      return "the scale of its output is computed";
    }
    if (int_attribute(node, "channels_last", 0) != 0) {
      return "its channels are last";
    }
    if (op.op_type == "QLinearSoftmax" && int_attribute(node, "opset", 13) < 13) {
      return "it is the Softmax of an opset before 13";
    }
    const std::string bias = input(node, op.bias);
    return bias.empty() || is_constant(bias) ? "" : "its bias is computed";
  }

  std::string spell(int i, const IntegerOp& op) {
    const onnx::NodeProto& node = index_.graph().node(i);
    std::vector<int> operands;
    for (const int first : op.operands) {
      if (first >= 0) {
        operands.push_back(first);
      }
    }
    for (int first = operands[0] + 3; op.list && first + 1 < node.input_size(); first += 3) {
      operands.push_back(first);
    }
    std::string reason = obstacle(node, op, operands);
    if (!reason.empty()) {
      return reason;
    }
    onnx::NodeProto made;
    made.set_op_type(std::string(op.float_op));
    made.set_name(node.name());
    for (const int first : operands) {
      made.add_input(dequantized(i, op, first));
    }
    if (!input(node, op.bias).empty()) {
      made.add_input(dequantized_bias(i, op));
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() != "channels_last" && attribute.name() != "opset") {
        *made.add_attribute() = attribute;
      }
    }
    finish(i, std::move(made),
           {.scale = input(node, op.result), .zero_point = input(node, op.result + 1)},
           operand_type(node, operands[0]));
    return {};
  }

  /// The float tensor of an operand; a constant one carries the axis of its scales.
  std::string dequantized(int i, const IntegerOp& op, int first) {
    const onnx::NodeProto& node = index_.graph().node(i);
    const std::string& codes = node.input(first);
    const Params params{.scale = input(node, first + 1), .zero_point = input(node, first + 2)};
    return add_dequantize(i, codes, params, channel_axis(node, op, first));
  }

  [[nodiscard]] std::int64_t channel_axis(const onnx::NodeProto& node, const IntegerOp& op,
                                          int first) const {
    if (op.float_op == "Conv") {
      return 0;
    }
    if (op.float_op == "Gemm" && first > 0) {
      return int_attribute(node, "transB", 0) != 0 ? 0 : 1;
    }
    const onnx::TensorProto* stored = index_.constant(node.input(first));
    const auto rank =
        stored != nullptr
            ? stored->dims_size()
            : static_cast<int>(index_.type(node.input(first)).shape.value_or(Shape{}).size());
    return std::max(rank - 1, 0);  // columns of a matrix product
  }

  std::string add_dequantize(int i, const std::string& codes, const Params& params,
                             std::int64_t axis) {
    const std::string name = float_name(codes);
    onnx::NodeProto node;
    node.set_op_type("DequantizeLinear");
    node.set_name(names_.fresh(name + "_DequantizeLinear"));
    node.add_input(codes);
    node.add_input(params.scale);
    if (!params.zero_point.empty()) {
      node.add_input(params.zero_point);
    }
    const onnx::TensorProto* scale = index_.constant(params.scale);
    if (scale != nullptr && element_count(shape_of(*scale)) > 1) {
      onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name("axis");
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(axis);
    }
    node.add_output(name);
    editor_.insert_before(i, std::move(node));
    return name;
  }

  /// "w" for the codes "w_quantized", the way tools name them; else a derived name.
  std::string float_name(const std::string& codes) {
    for (const std::string_view ending : {"_quantized", "_quant", "_q"}) {
      if (codes.size() > ending.size() && codes.ends_with(ending)) {
        return names_.fresh(codes.substr(0, codes.size() - ending.size()));
      }
    }
    return names_.fresh(codes + "_float");
  }

  /// int32 codes: scale = scale of operand 0 x scale of operand 1 (x alpha), one a channel.
  std::string dequantized_bias(int i, const IntegerOp& op) {
    const onnx::NodeProto& node = index_.graph().node(i);
    const std::string& codes = node.input(op.bias);
    const std::vector<float> first =
        model_.floats(*index_.constant(node.input(op.operands[0] + 1)));
    const std::vector<float> second =
        model_.floats(*index_.constant(node.input(op.operands[1] + 1)));
    const onnx::AttributeProto* alpha = find_attribute(node, "alpha");
    const float factor = alpha == nullptr ? 1.0F : alpha->f();
    std::vector<float> product;
    product.reserve(second.size());
    for (const float scale : second) {
      product.push_back(factor * first[0] * scale);
    }
    std::vector<std::byte> bytes(product.size() * sizeof(float));
    std::memcpy(bytes.data(), product.data(), bytes.size());
    const Params params{.scale = names_.fresh(codes + "_scale")};
    const Shape shape =
        product.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(product.size())};
    editor_.add_initializer(params.scale, Dtype::float32, shape, std::move(bytes));
    const std::string name = float_name(codes);
    onnx::NodeProto made;
    made.set_op_type("DequantizeLinear");
    made.set_name(names_.fresh(name + "_DequantizeLinear"));
    made.add_input(codes);
    made.add_input(params.scale);
    made.add_output(name);
    if (!shape.empty()) {
      onnx::AttributeProto& attribute = *made.add_attribute();
      attribute.set_name("axis");
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(std::max(index_.constant(codes)->dims_size() - 1, 0));
    }
    editor_.insert_before(i, std::move(made));
    return name;
  }

  /// Puts `made` in the place of node i; its output is quantized with `params`, if there are any.
  void finish(int i, onnx::NodeProto made, const Params& params, int type) {
    const std::string& codes = index_.graph().node(i).output(0);
    if (params.scale.empty()) {
      made.add_output(codes);  // QGemm with a float output
      editor_.insert_before(i, std::move(made));
      editor_.remove_node(i);
      return;
    }
    const std::string name = float_name(codes);
    made.add_output(name);
    editor_.insert_before(i, std::move(made));
    add_quantize(i, name, codes, with_zero_point(params, type));
    editor_.remove_node(i);
  }

  [[nodiscard]] int operand_type(const onnx::NodeProto& node, int first) const {
    const onnx::TensorProto* zero_point = index_.constant(input(node, first + 2));
    const onnx::TensorProto* codes = index_.constant(node.input(first));
    return zero_point != nullptr ? zero_point->data_type()
           : codes != nullptr    ? codes->data_type()
                                 : index_.type(node.input(first)).elem_type;
  }

  /// Without a zero point QuantizeLinear would make uint8: these operators make the type they read.
  Params with_zero_point(Params params, int type) {
    if (params.zero_point.empty() && type == onnx::TensorProto::INT8) {
      params.zero_point = names_.fresh(params.scale + "_zero_point");
      editor_.add_initializer(params.zero_point, Dtype::int8, {}, {std::byte{0}});
    }
    return params;
  }

  void add_quantize(int i, const std::string& from, const std::string& to, const Params& params) {
    onnx::NodeProto node;
    node.set_op_type("QuantizeLinear");
    node.set_name(names_.fresh(from + "_QuantizeLinear"));
    node.add_input(from);
    node.add_input(params.scale);
    if (!params.zero_point.empty()) {
      node.add_input(params.zero_point);
    }
    node.add_output(to);
    editor_.insert_before(i, std::move(node));
    known_[to] = params;
  }

  [[nodiscard]] bool is_mover(int i) const {
    const onnx::NodeProto& node = index_.graph().node(i);
    return is_onnx_domain(node) && node.input_size() > 0 && known_.contains(node.input(0)) &&
           std::find(kMovers.begin(), kMovers.end(), node.op_type()) != kMovers.end() &&
           (node.op_type() != "MaxPool" || node.output_size() == 1);
  }

  void move(int i) {
    const onnx::NodeProto& node = index_.graph().node(i);
    const Params params = known_.at(node.input(0));
    onnx::NodeProto made = node;
    made.set_input(0, add_dequantize(i, node.input(0), params, 1));
    made.clear_output();
    std::vector<std::pair<std::string, std::string>> outputs;
    for (const std::string& codes : node.output()) {
      outputs.emplace_back(codes.empty() ? "" : float_name(codes), codes);
      made.add_output(outputs.back().first);
    }
    editor_.insert_before(i, std::move(made));
    for (const auto& [name, codes] : outputs) {
      if (!codes.empty()) {
        add_quantize(i, name, codes, params);
      }
    }
    editor_.remove_node(i);
  }

  Model& model_;
  Diagnostics& diagnostics_;
  GraphIndex index_;
  NameMaker names_;
  GraphEditor editor_;
  EncodingTable table_{};
  std::unordered_map<std::string, Params> known_{};  // quantized tensors
};

}  // namespace

bool is_integer_op(const onnx::NodeProto& node) {
  return find_op(node) != nullptr || is_matmul_nbits(node) || is_run_time_op(node);
}

EncodingTable spell_out_integer_ops(Model& model, Diagnostics& diagnostics) {
  return Spelling(model, diagnostics).run();
}

}  // namespace halfstep
