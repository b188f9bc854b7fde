#include "halfstep/plan_observed.h"

#include <set>

#include "halfstep/model/op_facts.h"

namespace halfstep {
namespace {

/// Smallest and largest value, nothing else.
ResolvedSpec plain_range() {
  return resolve({.qparam_calculator_cls = "global_minmax", .policy = Policy::safe},
                 Role::activation);
}

}  // namespace

std::vector<ObservedTensor> observed_tensors(const Plan& plan) {
  std::vector<ObservedTensor> tensors;
  for (const PlannedActivation& activation : plan.activations) {
    const bool fixed = activation.spec->float_min && activation.spec->float_max;
    if (activation.source.empty() && !fixed) {
      tensors.push_back({.name = activation.tensor, .spec = activation.spec});
    }
  }
  return tensors;
}

CalibrationResult placeholder_ranges(const Plan& plan) {
  constexpr int kDistinct = 32768;
  CalibrationResult placeholders;
  int number = 0;
  for (const ObservedTensor& tensor : observed_tensors(plan)) {
    const float high = 1.0F - static_cast<float>(++number % kDistinct) / (2.0F * kDistinct);
    placeholders.statistics[tensor.name] = {
        .range = {.min = {0}, .max = {high}}, .values = 1, .min = 0, .max = high};
  }
  return placeholders;
}

std::vector<std::string> tensors_before_selection(const GraphIndex& graph, const Plan& plan) {
  std::set<std::string> known;
  for (const PlannedActivation& activation : plan.activations) {
    known.insert(activation.tensor);
  }
  std::vector<std::string> tensors;
  for (const onnx::NodeProto& node : graph.graph().node()) {
    if (!is_onnx_domain(node) || node.op_type() != "Where" || plan.activations.empty()) {
      continue;
    }
    for (int slot = 1; slot < node.input_size(); ++slot) {
      const std::string& input = node.input(slot);
      if (graph.type(input).elem_type == onnx::TensorProto::FLOAT &&
          graph.constant(input) == nullptr && known.insert(input).second) {
        tensors.push_back(input);
      }
    }
  }
  return tensors;
}

std::vector<ObservedTensor> given_activations(const GraphIndex& graph, const EncodingTable& given) {
  const ResolvedSpec range = plain_range();
  std::vector<ObservedTensor> tensors;
  for (const auto& [tensor, encoding] : given) {
    if (!encoding.is_float() && graph.constant(tensor) == nullptr &&
        (graph.producer(tensor) >= 0 || graph.is_graph_input(tensor))) {
      tensors.push_back({.name = tensor, .spec = range});
    }
  }
  return tensors;
}

std::vector<ObservedTensor> float_activations(const GraphIndex& graph, const Plan& plan,
                                              const std::vector<ObservedTensor>& listed) {
  std::set<std::string> known;
  for (const ObservedTensor& tensor : listed) {
    known.insert(tensor.name);
  }
  for (const PlannedActivation& activation : plan.activations) {
    known.insert(activation.tensor);
  }
  const ResolvedSpec range = plain_range();
  std::vector<ObservedTensor> tensors;
  for (const onnx::NodeProto& node : graph.graph().node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty() && graph.type(output).elem_type == onnx::TensorProto::FLOAT &&
          graph.constant(output) == nullptr && !plan.inner.contains(output) &&
          known.insert(output).second) {
        tensors.push_back({.name = output, .spec = range});
      }
    }
  }
  return tensors;
}

namespace {

/// Operators whose results hold channels, and on which axis.
std::optional<int> axis_of_channels(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if (op == "Conv" || op == "ConvTranspose" || op == "BatchNormalization") {
    return 1;
  }
  if (op == "Gemm" || op == "MatMul" || op == "LayerNormalization") {
    return -1;
  }
  return std::nullopt;
}

/// Operators on single values, which leave channels where they are.
bool keeps_channels(const onnx::NodeProto& node) {
  static const std::set<std::string> kOps = {"Relu", "Clip",     "LeakyRelu", "PRelu", "HardSwish",
                                             "Gelu", "Identity", "Elu",       "Celu",  "Softplus"};
  return kOps.contains(node.op_type());
}

}  // namespace

void find_channels(const GraphIndex& graph, std::vector<ObservedTensor>& tensors) {
  for (ObservedTensor& tensor : tensors) {
    int producer = graph.producer(tensor.name);
    while (producer >= 0 && keeps_channels(graph.graph().node(producer))) {
      producer = graph.producer(graph.graph().node(producer).input(0));
    }
    if (producer >= 0) {
      tensor.channel_axis = axis_of_channels(graph.graph().node(producer));
    }
  }
}

std::map<std::string, RealRange> measured_ranges(const CalibrationResult& measured) {
  std::map<std::string, RealRange> ranges;
  for (const auto& [tensor, seen] : measured.statistics) {
    if (!seen.range.max.empty()) {
      ranges[tensor] = {.low = seen.range.min[0], .high = seen.range.max[0]};
    }
  }
  return ranges;
}

}  // namespace halfstep
