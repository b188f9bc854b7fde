#include "halfstep/inspect_operator_traps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/static_view.h"
#include "halfstep/model/values.h"
#include "halfstep/model/visit.h"

namespace halfstep {
namespace {

constexpr float kMask = 1000.0F;       // an added constant beyond it is a mask, no value
constexpr std::int64_t kSmall = 4096;  // values of a constant that is looked through for masks

bool is_one_of(std::string_view op_type, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op_type) != ops.end();
}

/// What several nodes have in common, with the first of them as the example.
struct Kind {
  int count = 0;
  std::string subject{};
  std::string example{};
};

class OperatorTraps {
 public:
  OperatorTraps(const Model& model, const GraphIndex& index, Diagnostics& diagnostics)
      : model_(model), index_(index), graph_(index.graph()), diagnostics_(diagnostics) {}

  void find() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      look_at(i);
    }
    tell_nodes();
    element_types();
    functions();
    consumed_outputs();
    empty_constants();
    containers();
  }

 private:
  void add(Severity severity, const char* rule, std::string subject, std::string message) {
    diagnostics_.push_back({.severity = severity,
                            .rule = rule,
                            .subject = std::move(subject),
                            .message = std::move(message)});
  }

  static void count(Kind& kind, const std::string& subject, const std::string& example) {
    if (kind.count++ == 0) {
      kind.subject = subject;
      kind.example = example;
    }
  }

  void look_at(int i) {
    const onnx::NodeProto& node = graph_.node(i);
    bodies(i);
    shared_bias(i);
    if (!is_onnx_domain(node)) {
      return;
    }
    const std::string& op = node.op_type();
    if (is_one_of(op, {"LSTM", "GRU", "RNN"})) {
      count(recurrent_, node.output(0), index_.label(i));
    } else if (is_one_of(op, {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
                              "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"})) {
      count(quantized_, node.input(0), index_.label(i));
    } else if (op == "BatchNormalization") {
      batch_norm(i);
    } else if (is_one_of(op, {"Conv", "ConvTranspose"}) && node.input_size() > 1) {
      if (!static_view(index_, node.input(1)) && !is_dequantized(node.input(1))) {
        count(computed_weights_, node.input(1), index_.label(i));
      }
    } else if (is_one_of(op, {"Add", "Sub", "Where", "Mul"})) {
      mask(i);
    }
  }

  void shared_bias(int i) {
    const onnx::NodeProto& node = graph_.node(i);
    const std::optional<int> slot = op_facts(node).bias_slot;
    if (slot && *slot < node.input_size() && index_.constant(node.input(*slot)) != nullptr &&
        index_.consumers(node.input(*slot)).size() > 1) {
      count(shared_biases_, node.input(*slot), "'" + node.input(*slot) + "' of " + index_.label(i));
    }
  }

  [[nodiscard]] bool is_dequantized(const std::string& tensor) const {
    const int producer = index_.producer(tensor);
    return producer >= 0 && graph_.node(producer).op_type() == "DequantizeLinear";
  }

  void bodies(int i) {
    for (const onnx::AttributeProto& attribute : graph_.node(i).attribute()) {
      for_each_graph_in(attribute, [&](const onnx::GraphProto& body) {
        for_each_graph(body, [&](const onnx::GraphProto& part) {
          for (const onnx::NodeProto& inner : part.node()) {
            if (op_facts(inner).weight && !is_one_of(inner.op_type(), {"Gather"})) {
              count(body_weights_, inner.output(0),
                    inner.op_type() + " '" + inner.name() + "' in a body of " + index_.label(i));
            }
          }
        });
      });
    }
  }

  void batch_norm(int i) {
    const onnx::NodeProto& node = graph_.node(i);
    const int producer = index_.producer(node.input(0));
    const bool behind_conv =
        producer >= 0 && is_one_of(graph_.node(producer).op_type(), {"Conv", "ConvTranspose"});
    if (!behind_conv || index_.consumers(node.input(0)).size() != 1) {
      count(loose_norms_, node.output(0), index_.label(i));
    }
    const onnx::TensorProto* variance =
        node.input_size() > 4 ? index_.constant(node.input(4)) : nullptr;
    if (variance == nullptr) {
      return;
    }
    const std::vector<float> values = model_.floats(*variance);
    const auto bad = std::count_if(values.begin(), values.end(), [](float v) { return v <= 0; });
    if (bad > 0) {
      add(Severity::warning, "inspect/batch-norm-variance", node.input(4),
          std::to_string(bad) + " of " + std::to_string(values.size()) + " variances of " +
              index_.label(i) +
              " are 0 or negative: these channels are constant or blown up by 1 / sqrt(epsilon)");
    }
  }

  void mask(int i) {
    const onnx::NodeProto& node = graph_.node(i);
    for (const std::string& input : node.input()) {
      const onnx::TensorProto* constant = index_.constant(input);
      if (constant == nullptr || !is_float_type(constant->data_type()) ||
          element_count(shape_of(*constant)) > kSmall) {
        continue;
      }
      const std::vector<float> values = model_.floats(*constant);
      const auto lowest = std::min_element(values.begin(), values.end());
      if (lowest != values.end() && *lowest <= -kMask) {
        count(masks_, input, "'" + input + "' of " + index_.label(i));
      }
    }
  }

  void tell(const Kind& kind, Severity severity, const char* rule, const std::string& text) {
    if (kind.count > 0) {
      add(severity, rule, kind.subject,
          std::to_string(kind.count) + " x " + text + ", such as " + kind.example);
    }
  }

  void tell_nodes() {
    tell(body_weights_, Severity::note, "inspect/weight-in-body",
         "operator with weights inside the bodies of If, Loop or Scan: its weights are stored as "
         "integers, its activations stay float");
    tell(shared_biases_, Severity::note, "inspect/shared-bias",
         "bias that several nodes read: each gets an int32 copy with the scale that its own input "
         "and weight ask for");
    tell(recurrent_, Severity::note, "inspect/recurrent",
         "recurrent operator: its weights are stored as integers, it computes in float");
    tell(quantized_, Severity::note, "inspect/already-quantized",
         "node of a quantized model: what is quantized stays as it is, the rest is added");
    tell(computed_weights_, Severity::warning, "inspect/computed-weight",
         "convolution whose weight is computed at run time: it is quantized as an activation, per "
         "tensor, if at all");
    tell(loose_norms_, Severity::note, "inspect/batch-norm-alone",
         "batch normalization that is not behind a convolution of its own: it cannot be folded and "
         "stays float");
    tell(masks_, Severity::warning, "inspect/mask-constant",
         "constant below -1000 beside activations, most likely a mask: a range that includes it "
         "has no steps left for the values. The operator stays float by default; check recipes "
         "that quantize it");
  }

  void element_types() {
    std::map<std::string, int> types;
    for_each_tensor(model_.proto(), [&types](const onnx::TensorProto& tensor) {
      if (is_float_type(tensor.data_type()) && tensor.data_type() != onnx::TensorProto::FLOAT) {
        ++types[element_type_name(tensor.data_type())];
      }
    });
    for (const auto& [type, tensors] : types) {
      add(Severity::note, "inspect/other-float", type,
          std::to_string(tensors) + " constants are " + type +
              ": scales stay float32, with a Cast before each QuantizeLinear and behind each "
              "DequantizeLinear");
    }
    if (graph_.sparse_initializer_size() > 0) {
      add(Severity::note, "inspect/sparse-weight", graph_.sparse_initializer(0).values().name(),
          std::to_string(graph_.sparse_initializer_size()) +
              " initializers are sparse; they are kept as they are, in float");
    }
  }

  void functions() {
    for (const onnx::FunctionProto& function : model_.proto().functions()) {
      const bool weights =
          std::any_of(function.node().begin(), function.node().end(),
                      [](const onnx::NodeProto& node) { return op_facts(node).weight; });
      if (weights) {
        add(Severity::note, "inspect/local-function", function.domain() + "." + function.name(),
            "a local function holds operators with weights; its body takes the place of each "
            "call");
      }
    }
  }

  void consumed_outputs() {
    Kind kind, constant;
    for (const auto& output : graph_.output()) {
      if (index_.constant(output.name()) != nullptr) {
        count(constant, output.name(), "'" + output.name() + "'");
      } else if (!index_.consumers(output.name()).empty()) {
        count(kind, output.name(), "'" + output.name() + "'");
      }
    }
    tell(constant, Severity::note, "inspect/constant-output",
         "constant that is a graph output: callers get the values as they are stored, integers "
         "behind a DequantizeLinear if it is also a weight");
    tell(kind, Severity::note, "inspect/output-also-read",
         "graph output that nodes read, too: both get the quantized values");
  }

  void empty_constants() {
    Kind kind;
    for (const onnx::TensorProto& tensor : graph_.initializer()) {
      if (element_count(shape_of(tensor)) == 0 && is_float_type(tensor.data_type())) {
        count(kind, tensor.name(), "'" + tensor.name() + "'");
      }
    }
    tell(kind, Severity::note, "inspect/empty-constant",
         "constant without a value: it stays float");
  }

  void containers() {
    Kind kind;
    for (int i = 0; i < graph_.node_size(); ++i) {
      const std::string& op = graph_.node(i).op_type();
      if (op.starts_with("Sequence") || op.starts_with("Optional") || op == "SplitToSequence") {
        count(kind, graph_.node(i).output(0), index_.label(i));
      }
    }
    tell(kind, Severity::note, "inspect/container",
         "operator on sequences or optionals: what is inside stays float");
  }

  const Model& model_;
  const GraphIndex& index_;
  const onnx::GraphProto& graph_;
  Diagnostics& diagnostics_;
  Kind body_weights_{}, shared_biases_{}, recurrent_{}, quantized_{}, computed_weights_{},
      loose_norms_{}, masks_{};
};

}  // namespace

void find_operator_traps(const Model& model, const GraphIndex& graph, Diagnostics& diagnostics) {
  OperatorTraps(model, graph, diagnostics).find();
}

}  // namespace halfstep
