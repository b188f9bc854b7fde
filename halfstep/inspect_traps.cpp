#include "halfstep/inspect_traps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/inspect_operator_traps.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/tensor_role.h"
#include "halfstep/support/diagnostic_text.h"
#include "halfstep/support/tensor_view.h"

namespace halfstep {
namespace {

class Traps {
 public:
  Traps(const Model& model, const GraphIndex& index, Diagnostics& diagnostics)
      : model_(model), index_(index), graph_(index.graph()), diagnostics_(diagnostics) {}

  void find() {
    ports();
    node_names();
    weights();
    overridable();
    custom_ops();
  }

 private:
  void add(Severity severity, const char* rule, std::string subject, std::string message) {
    diagnostics_.push_back({.severity = severity,
                            .rule = rule,
                            .subject = std::move(subject),
                            .message = std::move(message)});
  }

  void ports() {
    for (const auto& input : graph_.input()) {
      const TensorType type = index_.type(input.name());
      if (index_.constant(input.name()) != nullptr || type.elem_type == 0) {
        continue;
      }
      if (!type.shape) {
        add(Severity::warning, "inspect/dynamic-shape", input.name(),
            "the input has no shape; nothing can be checked against it");
      } else if (std::ranges::find(*type.shape, -1) != type.shape->end()) {
        add(Severity::note, "inspect/dynamic-shape", input.name(),
            "the input's shape " + to_text(*type.shape) +
                " is partly unknown; most accelerators want it fixed");
      }
    }
  }

  void node_names() {
    int unnamed = 0;
    std::map<std::string_view, int> counts;
    for (const auto& node : graph_.node()) {
      if (node.name().empty()) {
        ++unnamed;
      } else {
        ++counts[node.name()];
      }
    }
    if (unnamed > 0) {
      add(Severity::note, "inspect/unnamed-nodes", graph_.name(),
          "nodes without a name: " + std::to_string(unnamed) + " of " +
              std::to_string(graph_.node_size()) +
              "; rules and reports call them by what they write");
    }
    for (const auto& [name, count] : counts) {
      if (count > 1) {
        add(Severity::warning, "inspect/duplicate-node-name", std::string(name),
            std::to_string(count) +
                " nodes have this name; a rule that names it means all of them");
      }
    }
  }

  void weights() {
    std::map<std::string, int> uses;
    for (int i = 0; i < graph_.node_size(); ++i) {
      const onnx::NodeProto& node = graph_.node(i);
      const auto weight = op_facts(node).weight;
      if (!weight || weight->slot >= node.input_size() || node.input(weight->slot).empty()) {
        continue;
      }
      const std::string& name = node.input(weight->slot);
      if (index_.constant(name) != nullptr) {
        ++uses[name];
      }
      weight_source(i, name);
    }
    for (const auto& [name, count] : uses) {
      if (count > 1) {
        add(Severity::note, "inspect/shared-weight", name,
            std::to_string(count) +
                " operators use this weight; it keeps one encoding unless they need "
                "different ones");
      }
      non_finite(name);
    }
  }

  // Where the weight of a node comes from, if that is no initializer.
  void weight_source(int node, const std::string& name) {
    const int producer = index_.producer(name);
    if (producer < 0) {
      return;
    }
    const std::string& op = graph_.node(producer).op_type();
    if (op == "Constant") {
      add(Severity::note, "inspect/weight-in-constant-node", name,
          "the weight of " + index_.label(node) + " is the value of a Constant node");
      return;
    }
    static const std::set<std::string_view> kThrough{"Identity",  "Transpose", "Reshape", "Squeeze",
                                                     "Unsqueeze", "Cast",      "Flatten"};
    const onnx::NodeProto& step = graph_.node(producer);
    if (kThrough.contains(op) && step.input_size() > 0 &&
        index_.constant(step.input(0)) != nullptr) {
      add(Severity::note, "inspect/weight-behind-op", name,
          "the weight of " + index_.label(node) + " is '" + step.input(0) + "' behind " +
              index_.label(producer));
    }
  }

  void non_finite(const std::string& name) {
    const onnx::TensorProto& tensor = *index_.constant(name);
    switch (tensor.data_type()) {
      case onnx::TensorProto::FLOAT:
      case onnx::TensorProto::FLOAT16:
      case onnx::TensorProto::BFLOAT16:
      case onnx::TensorProto::DOUBLE:
        break;
      default:
        return;
    }
    const std::vector<float> values = model_.floats(tensor);
    model_.drop(tensor);
    const auto bad =
        std::ranges::count_if(values, [](float value) { return !std::isfinite(value); });
    if (bad > 0) {
      add(Severity::warning, "weights/non-finite", name,
          "NaN or infinite: " + std::to_string(bad) + " of " + counted(values.size(), "value"));
    } else {
      uneven_channels(name, values, shape_of(tensor));
    }
  }

  // Channels of which one is more than kUneven times as large as another that is not all zeros.
  void uneven_channels(const std::string& name, const std::vector<float>& values,
                       const Shape& shape) {
    constexpr float kUneven = 100.0F;
    const auto axis = tensor_role(index_, name).channel_axis;
    if (!axis || shape.size() < 2 || values.empty()) {
      return;
    }
    const auto channel = static_cast<std::size_t>(*axis);
    const auto count = static_cast<std::size_t>(shape[channel]);
    const auto inner = static_cast<std::size_t>(
        element_count(std::span<const std::int64_t>(shape).subspan(channel + 1)));
    std::vector<float> largest(count, 0.0F);
    for (std::size_t i = 0; i < values.size(); ++i) {
      float& top = largest[i / inner % count];
      top = std::max(top, std::fabs(values[i]));
    }
    std::erase(largest, 0.0F);
    const auto [low, high] = std::minmax_element(largest.begin(), largest.end());
    if (largest.size() > 1 && *high > kUneven * *low) {
      add(Severity::note, "inspect/uneven-channels", name,
          "the largest value of its channels differs by a factor of " +
              std::to_string(std::llround(*high / *low)) +
              ": one scale for the whole weight would leave some channels without steps");
    }
  }

  void overridable() {
    for (const auto& initializer : graph_.initializer()) {
      if (index_.is_graph_input(initializer.name()) &&
          index_.constant(initializer.name()) == nullptr) {
        add(Severity::warning, "inspect/weight-is-input", initializer.name(),
            "the initializer is an input, too: a caller may replace it, so it is not treated as a "
            "weight. Remove it from the inputs if nobody does");
      }
    }
  }

  void custom_ops() {
    std::map<std::string, int> counts;
    for (const auto& node : graph_.node()) {
      if (!is_onnx_domain(node) && node.domain() != "ai.onnx.ml") {
        ++counts[node.domain() + "." + node.op_type()];
      }
    }
    for (const auto& [op, count] : counts) {
      add(Severity::note, "inspect/custom-op", op,
          "nodes of a domain other than ai.onnx: " + std::to_string(count) +
              "; they stay in float, and the engine must know them");
    }
  }

  const Model& model_;
  const GraphIndex& index_;
  const onnx::GraphProto& graph_;
  Diagnostics& diagnostics_;
};

}  // namespace

void find_traps(const Model& model, const GraphIndex& graph, Diagnostics& diagnostics) {
  Traps(model, graph, diagnostics).find();
  find_operator_traps(model, graph, diagnostics);
}

}  // namespace halfstep
