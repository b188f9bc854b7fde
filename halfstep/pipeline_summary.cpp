#include "halfstep/pipeline_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include <sys/resource.h>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/source_arithmetic.h"
#include "halfstep/model/tensor_role.h"
#include "halfstep/model/visit.h"
#include "halfstep/plan_regions.h"
#include "halfstep/support/diagnostic_text.h"

namespace halfstep {
namespace {

std::string granularity_text(const Granularity& granularity) {
  if (std::holds_alternative<PerChannel>(granularity)) {
    return " per channel";
  }
  if (const auto* block = std::get_if<PerBlock>(&granularity)) {
    return block->axis && block->block_size.size() == 1
               ? " block " + std::to_string(block->block_size[0])
               : " per block";
  }
  if (const auto* lpbq = std::get_if<Lpbq>(&granularity)) {
    return " lpbq " + std::to_string(lpbq->block_size);
  }
  return " per tensor";
}

/// The types of every node that a plan speaks of.
class NodeTypes {
 public:
  NodeTypes(const GraphIndex& graph, const Plan& plan, const EncodingTable& given)
      : graph_(graph), plan_(plan), given_(given) {
    for (const PlannedActivation& activation : plan.activations) {
      activations_.emplace(activation.tensor, activation.spec->dtype);
    }
    for (const PlannedWeight& weight : plan.weights) {
      for (const Consumer& use : weight.uses) {
        weights_.emplace(
            std::pair{use.node, use.slot},
            std::string(name(weight.spec->dtype)) + granularity_text(weight.spec->granularity));
      }
    }
    for (const PlannedBias& bias : plan.biases) {
      biases_.insert(bias.use.node);
    }
  }

  TypeRow row(int node) const {
    const onnx::NodeProto& op = graph_.graph().node(node);
    TypeRow row{.op_type = op.op_type(), .activation = "float32", .weight = "-", .bias = "-"};
    const NodePlan& decision = plan_.nodes[static_cast<std::size_t>(node)];
    row.bias = biases_.contains(node) ? "int32" : float_bias(op);
    const std::optional<int> bias_slot = op_facts(op).bias_slot;
    for (int slot = 0; slot < op.input_size(); ++slot) {
      if (const Encoding* given = quantized(op.input(slot))) {
        add_given(*given, slot == bias_slot, graph_.constant(op.input(slot)) != nullptr, row);
        continue;
      }
      if (const Encoding* given = given_.find(op.input(slot));
          given != nullptr && given->dtype == Dtype::float16 && row.activation == "float32") {
        row.activation = "float16";
      }
      const auto activation = activations_.find(op.input(slot));
      if (activation != activations_.end() && (decision.quantized || decision.carries)) {
        add_activation(std::string(name(activation->second)), row);
      }
      const auto weight = weights_.find({node, slot});
      if (weight != weights_.end()) {
        row.weight = weight->second;
      }
    }
    if (row.activation == "float32" && decision.quantized) {
      row.activation = "in group";  // an inner op: it never sees quantized values
    } else if (row.activation != "float32") {
      add_output(op.output(0), row);
    }
    return row;
  }

 private:
  [[nodiscard]] const Encoding* quantized(const std::string& tensor) const {
    const Encoding* given = given_.find(tensor);
    return given != nullptr && !given->is_float() ? given : nullptr;
  }

  /// "uint8", with inputs of two types "uint8 + uint16".
  static void add_activation(const std::string& type, TypeRow& row) {
    if (row.activation == "float32") {
      row.activation = type;
    } else if ((" " + row.activation + " ").find(" " + type + " ") == std::string::npos) {
      row.activation += " + " + type;
    }
  }

  /// "uint8 -> uint16" where the output has another type.
  void add_output(const std::string& tensor, TypeRow& row) const {
    const Encoding* given = quantized(tensor);
    const auto planned = activations_.find(tensor);
    if (given == nullptr && planned == activations_.end()) {
      return;
    }
    const std::string type(name(given != nullptr ? given->dtype : planned->second));
    row.activation += type == row.activation ? "" : " -> " + type;
  }

  static void add_given(const Encoding& given, bool bias, bool constant, TypeRow& row) {
    const std::string type(name(given.dtype));
    if (bias) {
      row.bias = type;
    } else if (constant) {
      row.weight = type + granularity_text(given.granularity);
    } else {
      add_activation(type, row);
    }
  }

  static std::string float_bias(const onnx::NodeProto& op) {
    const std::optional<int> slot = op_facts(op).bias_slot;
    return slot && *slot < op.input_size() && !op.input(*slot).empty() ? "float32" : "-";
  }

  const GraphIndex& graph_;
  const Plan& plan_;
  const EncodingTable& given_;
  std::unordered_map<std::string, Dtype> activations_{};
  std::map<std::pair<int, int>, std::string> weights_{};
  std::set<int> biases_{};
};

std::uint64_t tensor_bytes(const onnx::TensorProto& tensor) {
  const std::optional<Dtype> dtype = dtype_from_onnx(tensor.data_type());
  const auto count = static_cast<std::uint64_t>(element_count(shape_of(tensor)));
  return dtype ? (count * static_cast<std::uint64_t>(bits(*dtype)) + 7) / 8 : count;
}

}  // namespace

std::vector<TypeRow> type_rows(const GraphIndex& graph, const Plan& plan,
                               const EncodingTable& given) {
  const NodeTypes types(graph, plan, given);
  std::map<std::tuple<std::string, std::string, std::string, std::string>, int> counts;
  for (int node = 0; node < graph.graph().node_size(); ++node) {
    const onnx::NodeProto& op = graph.graph().node(node);
    if (data_slots(graph, op).empty() || !writes_float(graph, op) || is_source_arithmetic(op)) {
      continue;
    }
    const TypeRow row = types.row(node);
    ++counts[{row.op_type, row.activation, row.weight, row.bias}];
  }
  std::vector<TypeRow> rows;
  for (const auto& [key, count] : counts) {
    const auto& [op_type, activation, weight, bias] = key;
    rows.push_back({.op_type = op_type,
                    .activation = activation,
                    .weight = weight,
                    .bias = bias,
                    .nodes = count});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TypeRow& a, const TypeRow& b) { return a.nodes > b.nodes; });
  return rows;
}

void count_quantized(const GraphIndex& graph, const Plan& plan, const EncodingTable& given,
                     QuantizeSummary& summary) {
  summary.quantized_activations = static_cast<int>(plan.activations.size());
  summary.quantized_biases = static_cast<int>(plan.biases.size());
  summary.quantized_weights = static_cast<int>(
      std::count_if(plan.weights.begin(), plan.weights.end(),
                    [](const PlannedWeight& weight) { return weight.given == nullptr; }));
  for (const auto& [tensor, encoding] : given) {
    if (encoding.is_float()) {
      continue;
    }
    const TensorRole role = tensor_role(graph, tensor);
    int& counter = !role.constant ? summary.quantized_activations
                   : role.bias    ? summary.quantized_biases
                                  : summary.quantized_weights;
    ++counter;
  }
}

std::vector<FloatReason> bare_reasons(const GraphIndex& graph, const EncodingTable& table) {
  BareTensors bare = bare_tensors(graph, table);
  std::vector<FloatReason> reasons;
  const auto add = [&](const char* reason, std::vector<std::string>& tensors) {
    if (!tensors.empty()) {
      const int count = static_cast<int>(tensors.size());
      reasons.push_back({.reason = reason, .count = count, .examples = std::move(tensors)});
    }
  };
  add("no encoding for the tensor", bare.activations);
  add("no encoding for the weight or bias", bare.parameters);
  return reasons;
}

std::vector<FloatReason> default_float_reasons(const Diagnostics& diagnostics, std::size_t first) {
  constexpr std::size_t kExamples = 3;
  FloatReason reason{.reason = "no encoding for the tensor"};
  for (std::size_t i = first; i < diagnostics.size(); ++i) {
    if (diagnostics[i].rule == "adapt/default-float") {
      ++reason.count;
      if (reason.examples.size() < kExamples) {
        reason.examples.push_back(diagnostics[i].subject);
      }
    }
  }
  return reason.count == 0 ? std::vector<FloatReason>() : std::vector{reason};
}

std::vector<FloatReason> float_reasons(const GraphIndex& graph, const Plan& plan) {
  std::map<std::string, FloatReason> by_reason;
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
    const std::string& reason = plan.nodes[node].float_reason;
    if (reason.empty()) {
      continue;
    }
    FloatReason& entry = by_reason[reason];
    entry.reason = reason;
    ++entry.count;
    if (entry.examples.size() < 3) {
      entry.examples.push_back(graph.label(static_cast<int>(node)));
    }
  }
  for (const FloatWeight& weight : plan.float_weights) {
    FloatReason& entry = by_reason[weight.reason];
    entry.reason = weight.reason;
    ++entry.count;
    if (entry.examples.size() < 3) {
      entry.examples.push_back(weight.tensor);
    }
  }
  std::vector<FloatReason> reasons;
  for (const auto& [reason, entry] : by_reason) {
    reasons.push_back(entry);
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const FloatReason& a, const FloatReason& b) { return a.count > b.count; });
  return reasons;
}

std::uint64_t weight_bytes(const Model& model) {
  std::uint64_t bytes = 0;
  for_each_graph_of_model(model.proto(), [&bytes](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      bytes += tensor_bytes(tensor);
    }
  });
  for_each_node(model.proto(), [&bytes](const onnx::NodeProto& node) {
    const onnx::AttributeProto* value = find_attribute(node, "value");
    if (node.op_type() == "Constant" && value != nullptr && value->has_t()) {
      bytes += tensor_bytes(value->t());
    }
  });
  return bytes;
}

std::uint64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U;
}

namespace {

Json number_or_text(double value) {
  return std::isfinite(value) ? Json(value) : Json(value > 0 ? "inf" : "nan");
}

}  // namespace

void mark_adapted(EntryAccount& overrides, const Diagnostics& diagnostics, std::size_t first) {
  std::map<std::string, const Diagnostic*> changed;
  for (std::size_t i = first; i < diagnostics.size(); ++i) {
    const Diagnostic& diagnostic = diagnostics[i];
    if (diagnostic.rule != "adapt/super-group" && diagnostic.rule != "adapt/default-float") {
      changed.emplace(diagnostic.subject, &diagnostic);
    }
  }
  for (EntryOutcome& entry : overrides.entries) {
    const auto found = changed.find(entry.name);
    if (found != changed.end() && entry.status == EntryOutcome::Status::applied) {
      entry.status = EntryOutcome::Status::adapted;
      entry.reason = found->second->message;
    }
  }
}

std::string nothing_to_quantize(const GraphIndex& graph, const QuantizeSummary& summary) {
  std::string text = summary.model + ": nothing to quantize with recipe " + summary.recipe +
                     " on target " + summary.target + ": " +
                     counted(static_cast<std::uint64_t>(graph.graph().node_size()), "node");
  if (summary.model_encodings > 0) {
    text += "; tensors and uses that have encodings of their own already: " +
            std::to_string(summary.model_encodings);
  }
  for (const FloatReason& reason : summary.stayed_float) {
    text += "; " + std::to_string(reason.count) + " x " + reason.reason + " (" +
            reason.examples[0] + ")";
  }
  if (summary.stayed_float.empty()) {
    std::set<std::string> ops;
    for (const onnx::NodeProto& node : graph.graph().node()) {
      ops.insert(node.op_type());
    }
    text += "; none of them computes on float tensors in the main graph (";
    for (const std::string& op : ops) {
      text += (op == *ops.begin() ? "" : ", ") + op;
    }
    text += ops.empty() ? "it is empty)" : ")";
  }
  return text;
}

Json to_json(const QuantizeSummary& summary) {
  Json json = {{"model", summary.model},
               {"recipe", summary.recipe},
               {"target", summary.target},
               {"engine", summary.engine},
               {"remark", summary.remark},
               {"size_before", summary.size_before},
               {"size_after", summary.size_after},
               {"weights_before", summary.weights_before},
               {"weights_after", summary.weights_after},
               {"samples", summary.samples},
               {"method", summary.method},
               {"observed", summary.observed},
               {"placeholders", summary.placeholders},
               {"quantized_activations", summary.quantized_activations},
               {"quantized_weights", summary.quantized_weights},
               {"quantized_biases", summary.quantized_biases}};
  json["types"] = Json::array();
  for (const TypeRow& row : summary.types) {
    json["types"].push_back({{"op_type", row.op_type},
                             {"activation", row.activation},
                             {"weight", row.weight},
                             {"bias", row.bias},
                             {"nodes", row.nodes}});
  }
  json["model_encodings"] = summary.model_encodings;
  json["prepared"] = summary.prepared;
  json["adapted"] = Json();
  if (summary.adapted) {
    const AdaptTotals& totals = *summary.adapted;
    json["adapted"] = {{"default_float", totals.default_float},
                       {"propagated", totals.propagated},
                       {"adapted", totals.adapted},
                       {"converts", totals.converts},
                       {"super_groups", totals.super_groups},
                       {"movement_groups", totals.movement_groups}};
  }
  json["validated"] = summary.validated ? to_json(*summary.validated) : Json();
  json["overrides"] = summary.overrides ? to_json(*summary.overrides) : Json();
  json["stayed_float"] = Json::array();
  for (const FloatReason& reason : summary.stayed_float) {
    json["stayed_float"].push_back(
        {{"reason", reason.reason}, {"count", reason.count}, {"examples", reason.examples}});
  }
  json["movement"] = Json::array();
  for (const TensorMovement& movement : summary.movement) {
    json["movement"].push_back(
        {{"tensor", movement.tensor}, {"share", movement.share}, {"expected", movement.expected}});
  }
  json["outputs"] = Json::array();
  for (const OutputError& output : summary.outputs) {
    json["outputs"].push_back(
        {{"output", output.output}, {"sqnr_db", number_or_text(output.sqnr_db)}});
  }
  json["worst"] = Json::array();
  for (const TensorError& tensor : summary.worst) {
    json["worst"].push_back({{"tensor", tensor.tensor},
                             {"op_type", tensor.op_type},
                             {"sqnr_db", number_or_text(tensor.sqnr_db)},
                             {"hint", tensor.hint}});
  }
  json["seconds"] = summary.seconds;
  json["peak_memory"] = summary.peak_memory;
  return json;
}

}  // namespace halfstep
