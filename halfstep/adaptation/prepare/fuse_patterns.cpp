#include "halfstep/adaptation/prepare/fuse_patterns.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/model/graph_editor.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;
constexpr double kClose = 1e-3;

/// A pattern found: the nodes that go and the operator that comes.
struct Fusion {
  std::string op{};
  int opset = 0;
  std::vector<int> nodes{};  ///< the last one gives name and output
  std::vector<std::string> inputs{};
  std::optional<float> epsilon{};
};

/// Looks around single nodes of one graph.
class Matcher {
 public:
  Matcher(const Model& model, const GraphIndex& graph) : model_(model), graph_(graph) {}

  [[nodiscard]] std::optional<Fusion> match(int node) const {
    const std::string& op = proto(node).op_type();
    if (!is_onnx_domain(proto(node))) {
      return std::nullopt;
    }
    if (op == "Erf") {
      return gelu(node);
    }
    if (op == "Clip") {
      return hard_swish(node);
    }
    if (op == "HardSigmoid") {
      return hard_sigmoid_product(node);
    }
    return op == "Sqrt" ? normalization(node) : std::nullopt;
  }

 private:
  [[nodiscard]] const onnx::NodeProto& proto(int node) const { return graph_.graph().node(node); }

  /// The value of a constant with one element.
  [[nodiscard]] std::optional<double> scalar(const std::string& tensor) const {
    const onnx::TensorProto* constant = graph_.constant(tensor);
    if (constant == nullptr || element_count(shape_of(*constant)) != 1) {
      return std::nullopt;
    }
    return model_.floats(*constant)[0];
  }

  [[nodiscard]] bool is_scalar(const std::string& tensor, double value) const {
    const std::optional<double> found = scalar(tensor);
    return found && std::fabs(*found - value) <= kClose * std::max(1.0, std::fabs(value));
  }

  [[nodiscard]] bool is_op(int node, std::string_view op) const {
    return node >= 0 && proto(node).op_type() == op && is_onnx_domain(proto(node));
  }

  /// The only reader of the node's output, -1 if there are others, or it leaves the graph.
  [[nodiscard]] int only_reader(int node) const {
    const std::string& output = proto(node).output(0);
    const auto readers = graph_.consumers(output);
    return readers.size() == 1 && readers[0].slot >= 0 && !graph_.is_graph_output(output)
               ? readers[0].node
               : -1;
  }

  /// Every reader of the node's output is one of `readers`.
  [[nodiscard]] bool read_only_by(int node, const std::vector<int>& readers) const {
    const std::string& output = proto(node).output(0);
    const auto found = graph_.consumers(output);
    return !graph_.is_graph_output(output) &&
           std::all_of(found.begin(), found.end(), [&readers](const Consumer& reader) {
             return reader.slot >= 0 &&
                    std::find(readers.begin(), readers.end(), reader.node) != readers.end();
           });
  }

  /// The operand of a two-input node that is not `tensor`; empty if `tensor` is none of them.
  [[nodiscard]] std::string other(int node, const std::string& tensor) const {
    if (node < 0 || proto(node).input_size() != 2) {
      return "";
    }
    return proto(node).input(0) == tensor   ? proto(node).input(1)
           : proto(node).input(1) == tensor ? proto(node).input(0)
                                            : "";
  }

  /// The reader of `node` if it is `op` with a scalar operand of that value.
  [[nodiscard]] int reader_with_scalar(int node, std::string_view op, double value) const {
    const int reader = only_reader(node);
    return is_op(reader, op) && is_scalar(other(reader, proto(node).output(0)), value) ? reader
                                                                                       : -1;
  }

  // ---- Gelu -------------------------------------------------------------------------------------

  [[nodiscard]] std::optional<Fusion> gelu(int erf) const {
    const int scaled = graph_.producer(proto(erf).input(0));
    const bool divides = is_op(scaled, "Div") && is_scalar(proto(scaled).input(1), kSqrt2);
    const int one = reader_with_scalar(erf, "Add", 1.0);
    if ((!divides && !is_op(scaled, "Mul")) || only_reader(scaled) != erf || one < 0) {
      return std::nullopt;
    }
    std::string x = proto(scaled).input(0);
    if (!divides) {
      x = is_scalar(proto(scaled).input(1), 1 / kSqrt2)   ? proto(scaled).input(0)
          : is_scalar(proto(scaled).input(0), 1 / kSqrt2) ? proto(scaled).input(1)
                                                          : "";
    }
    const int product = only_reader(one);
    if (x.empty() || !is_op(product, "Mul")) {
      return std::nullopt;
    }
    return gelu_products(x, {scaled, erf, one}, product);
  }

  /// Behind 1 + erf: * x * 0.5, * 0.5 * x, or * (x * 0.5).
  [[nodiscard]] std::optional<Fusion> gelu_products(const std::string& x, std::vector<int> nodes,
                                                    int product) const {
    const std::string factor = other(product, proto(nodes.back()).output(0));
    nodes.push_back(product);
    if (factor == x) {
      const int half = reader_with_scalar(product, "Mul", 0.5);
      nodes.push_back(half);
      return half < 0 ? std::nullopt : std::optional(Fusion{"Gelu", 20, nodes, {x}, {}});
    }
    if (is_scalar(factor, 0.5)) {
      const int last = only_reader(product);
      nodes.push_back(last);
      return is_op(last, "Mul") && other(last, proto(product).output(0)) == x
                 ? std::optional(Fusion{"Gelu", 20, nodes, {x}, {}})
                 : std::nullopt;
    }
    const int half = graph_.producer(factor);
    if (is_op(half, "Mul") && is_scalar(other(half, x), 0.5) && only_reader(half) == product) {
      nodes.insert(nodes.begin(), half);
      return Fusion{"Gelu", 20, nodes, {x}, {}};
    }
    return std::nullopt;
  }

  // ---- HardSwish --------------------------------------------------------------------------------

  [[nodiscard]] std::optional<Fusion> hard_swish(int clip) const {
    const int add = graph_.producer(proto(clip).input(0));
    if (proto(clip).input_size() != 3 || !is_scalar(proto(clip).input(1), 0.0) ||
        !is_scalar(proto(clip).input(2), 6.0) || !is_op(add, "Add") || only_reader(add) != clip) {
      return std::nullopt;
    }
    const std::string x = is_scalar(proto(add).input(1), 3.0)   ? proto(add).input(0)
                          : is_scalar(proto(add).input(0), 3.0) ? proto(add).input(1)
                                                                : "";
    const int next = only_reader(clip);
    if (x.empty() || next < 0) {
      return std::nullopt;
    }
    if (is_op(next, "Mul") && other(next, proto(clip).output(0)) == x) {
      const int last = by_six(next);
      return last < 0 ? std::nullopt
                      : std::optional(Fusion{"HardSwish", 14, {add, clip, next, last}, {x}, {}});
    }
    if (by_six(clip) == next) {
      const int last = only_reader(next);
      return is_op(last, "Mul") && other(last, proto(next).output(0)) == x
                 ? std::optional(Fusion{"HardSwish", 14, {add, clip, next, last}, {x}, {}})
                 : std::nullopt;
    }
    return std::nullopt;
  }

  /// The reader that divides by 6, or multiplies by a sixth.
  [[nodiscard]] int by_six(int node) const {
    const int reader = only_reader(node);
    const bool divides = is_op(reader, "Div") && proto(reader).input(0) == proto(node).output(0) &&
                         is_scalar(proto(reader).input(1), 6.0);
    return divides ? reader : reader_with_scalar(node, "Mul", 1.0 / 6.0);
  }

  [[nodiscard]] std::optional<Fusion> hard_sigmoid_product(int sigmoid) const {
    const auto attribute = [&](std::string_view name, float fallback) {
      const onnx::AttributeProto* found = find_attribute(proto(sigmoid), name);
      return found == nullptr ? fallback : found->f();
    };
    const int product = only_reader(sigmoid);
    const std::string& x = proto(sigmoid).input(0);
    if (std::fabs(attribute("alpha", 0.2F) - 1.0F / 6.0F) > kClose ||
        std::fabs(attribute("beta", 0.5F) - 0.5F) > kClose || !is_op(product, "Mul") ||
        other(product, proto(sigmoid).output(0)) != x) {
      return std::nullopt;
    }
    return Fusion{"HardSwish", 14, {sigmoid, product}, {x}, {}};
  }

  // ---- LayerNormalization, RMSNormalization -----------------------------------------------------

  [[nodiscard]] bool over_last_axis(int node, const std::string& data) const {
    const std::optional<Shape> shape = graph_.type(data).shape;
    if (!shape || int_attribute(proto(node), "keepdims", 1) == 0) {
      return false;
    }
    std::vector<double> axes;
    if (const onnx::AttributeProto* attribute = find_attribute(proto(node), "axes")) {
      axes.assign(attribute->ints().begin(), attribute->ints().end());
    } else if (proto(node).input_size() > 1 && graph_.constant(proto(node).input(1)) != nullptr) {
      const std::vector<float> values = model_.floats(*graph_.constant(proto(node).input(1)));
      axes.assign(values.begin(), values.end());
    }
    return axes.size() == 1 &&
           (axes[0] == -1.0 || axes[0] == static_cast<double>(shape->size()) - 1);
  }

  /// From Sqrt(mean(square) + epsilon) to both sides.
  [[nodiscard]] std::optional<Fusion> normalization(int root) const {
    const int add = graph_.producer(proto(root).input(0));
    if (!is_op(add, "Add") || only_reader(add) != root) {
      return std::nullopt;
    }
    const int slot = scalar(proto(add).input(1)) ? 1 : 0;
    const std::optional<double> epsilon = scalar(proto(add).input(slot));
    const int mean = graph_.producer(proto(add).input(1 - slot));
    if (!epsilon || !is_op(mean, "ReduceMean") || only_reader(mean) != add) {
      return std::nullopt;
    }
    const int square = graph_.producer(proto(mean).input(0));
    const std::string centered = squared(square);
    const int divide = only_reader(root);
    if (centered.empty() || only_reader(square) != mean || !is_op(divide, "Div") ||
        proto(divide).input(0) != centered || !over_last_axis(mean, centered)) {
      return std::nullopt;
    }
    Fusion fusion{.nodes = {square, mean, add, root, divide},
                  .epsilon = static_cast<float>(*epsilon)};
    const int subtract = graph_.producer(centered);
    if (!is_centered(subtract, {square, divide}, fusion)) {
      fusion.op = "RMSNormalization";
      fusion.opset = 23;
      fusion.inputs = {centered};
    }
    return with_parameters(std::move(fusion), divide);
  }

  /// What the node squares: x^2 or x * x; empty if it does not.
  [[nodiscard]] std::string squared(int node) const {
    if (is_op(node, "Pow") && is_scalar(proto(node).input(1), 2.0)) {
      return proto(node).input(0);
    }
    return is_op(node, "Mul") && proto(node).input(0) == proto(node).input(1) ? proto(node).input(0)
                                                                              : "";
  }

  /// x - mean(x), read only here: then it is LayerNormalization.
  bool is_centered(int subtract, const std::vector<int>& readers, Fusion& fusion) const {
    if (!is_op(subtract, "Sub") || !read_only_by(subtract, readers)) {
      return false;
    }
    const std::string& x = proto(subtract).input(0);
    const int mean = graph_.producer(proto(subtract).input(1));
    if (!is_op(mean, "ReduceMean") || proto(mean).input(0) != x || only_reader(mean) != subtract ||
        !over_last_axis(mean, x)) {
      return false;
    }
    fusion.op = "LayerNormalization";
    fusion.opset = 17;
    fusion.inputs = {x};
    fusion.nodes.insert(fusion.nodes.begin(), {mean, subtract});
    return true;
  }

  /// A constant with one value per element of the last axis.
  [[nodiscard]] bool is_parameter(const std::string& tensor, const std::string& data) const {
    const onnx::TensorProto* constant = graph_.constant(tensor);
    const std::optional<Shape> shape = graph_.type(data).shape;
    return constant != nullptr && shape && !shape->empty() &&
           shape_of(*constant) == Shape{shape->back()};
  }

  [[nodiscard]] std::optional<Fusion> with_parameters(Fusion fusion, int divide) const {
    const std::string x = fusion.inputs[0];
    const int scale = only_reader(divide);
    const std::string gamma = is_op(scale, "Mul") ? other(scale, proto(divide).output(0)) : "";
    if (gamma.empty() || !is_parameter(gamma, x)) {
      return std::nullopt;
    }
    fusion.inputs.push_back(gamma);
    fusion.nodes.push_back(scale);
    const int shift = only_reader(scale);
    const std::string beta = is_op(shift, "Add") ? other(shift, proto(scale).output(0)) : "";
    if (fusion.op == "LayerNormalization" && !beta.empty() && is_parameter(beta, x)) {
      fusion.inputs.push_back(beta);
      fusion.nodes.push_back(shift);
    }
    return fusion;
  }

  const Model& model_;
  const GraphIndex& graph_;
};

void apply(const Fusion& fusion, const GraphIndex& graph, GraphEditor& editor) {
  const onnx::NodeProto& last = graph.graph().node(fusion.nodes.back());
  onnx::NodeProto node;
  node.set_op_type(fusion.op);
  node.set_name(last.name());
  for (const std::string& input : fusion.inputs) {
    node.add_input(input);
  }
  node.add_output(last.output(0));
  if (fusion.epsilon) {
    onnx::AttributeProto& epsilon = *node.add_attribute();
    epsilon.set_name("epsilon");
    epsilon.set_type(onnx::AttributeProto::FLOAT);
    epsilon.set_f(*fusion.epsilon);
    onnx::AttributeProto& axis = *node.add_attribute();
    axis.set_name("axis");
    axis.set_type(onnx::AttributeProto::INT);
    axis.set_i(-1);
  }
  editor.insert_before(fusion.nodes.back(), std::move(node));
  for (const int removed : fusion.nodes) {
    editor.remove_node(removed);
  }
}

/// All patterns of a graph; no node is in two of them.
std::vector<Fusion> find_all(const Model& model, const GraphIndex& graph,
                             const std::set<std::string>& left_out) {
  const Matcher matcher(model, graph);
  std::vector<Fusion> fusions;
  std::set<int> taken;
  for (int node = 0; node < graph.graph().node_size(); ++node) {
    std::optional<Fusion> fusion = matcher.match(node);
    if (fusion && !left_out.contains(fusion->op) &&
        std::none_of(fusion->nodes.begin(), fusion->nodes.end(),
                     [&taken](int n) { return taken.contains(n); })) {
      taken.insert(fusion->nodes.begin(), fusion->nodes.end());
      fusions.push_back(std::move(*fusion));
    }
  }
  return fusions;
}

Diagnostic note_of(const Fusion& fusion, const GraphIndex& graph) {
  return {.severity = Severity::note,
          .rule = "prepare/fuse-pattern",
          .subject = graph.graph().node(fusion.nodes.back()).output(0),
          .message = std::to_string(fusion.nodes.size()) + " nodes from " +
                     graph.label(fusion.nodes.front()) + " to " + graph.label(fusion.nodes.back()) +
                     " are one " + fusion.op};
}

/// The version converter knows the pieces, but not operators that are newer than the model. The
/// pieces may look different afterwards, and show more patterns.
void raise_for_patterns(Model& model, const std::set<std::string>& left_out) {
  for (bool raised = true; raised;) {
    int opset = model.opset();
    for (const Fusion& fusion : find_all(model, GraphIndex(model), left_out)) {
      opset = std::max(opset, fusion.opset);
    }
    raised = opset > model.opset();
    if (raised) {
      model.raise_opset(opset);
    }
  }
}

}  // namespace

int fuse_patterns(Model& model, Diagnostics& diagnostics, const std::set<std::string>& left_out) {
  raise_for_patterns(model, left_out);
  const GraphIndex graph(model);
  GraphEditor editor(model);
  const std::vector<Fusion> fusions = find_all(model, graph, left_out);
  for (const Fusion& fusion : fusions) {
    diagnostics.push_back(note_of(fusion, graph));
    apply(fusion, graph, editor);
  }
  editor.apply();
  return static_cast<int>(fusions.size());
}

}  // namespace halfstep
