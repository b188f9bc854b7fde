#include "halfstep/verify_subject.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "halfstep/engines/qnn/check_graph.h"
#include "halfstep/model/model.h"
#include "halfstep/model/values.h"
#include "halfstep/support/error.h"
#include "halfstep/support/glob.h"
#include "halfstep/verify_values.h"

namespace halfstep {
namespace {

/// By tensor of the graph: the operator that writes it.
std::unordered_map<std::string, std::size_t> writers(const qnn::Graph& graph) {
  std::unordered_map<std::string, std::size_t> found;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    for (const std::string& output : graph.ops[i].outputs) {
      found.emplace(output, i);
    }
  }
  return found;
}

/// By tensor of the graph: is it written and read inside one super group only?
std::unordered_map<std::string, bool> inner_tensors(const qnn::LoweredGraph& lowered) {
  std::unordered_map<std::string, int> group;
  std::unordered_map<std::string, bool> inner;
  for (std::size_t i = 0; i < lowered.graph.ops.size(); ++i) {
    const int own = i < lowered.groups.size() ? lowered.groups[i] : -1;
    for (const std::string& input : lowered.graph.ops[i].inputs) {
      const auto writer = group.find(input);
      if (writer != group.end()) {
        const bool same = own >= 0 && writer->second == own;
        const auto [known, fresh] = inner.emplace(input, same);
        known->second = known->second && same;
      }
    }
    for (const std::string& output : lowered.graph.ops[i].outputs) {
      group.emplace(output, own);
    }
  }
  return inner;
}

qnn::Tensor without_data(const qnn::Tensor& tensor) {
  return {.name = tensor.name,
          .kind = tensor.kind,
          .type = tensor.type,
          .dims = tensor.dims,
          .quantization = tensor.quantization};
}

/// The operator that computes what `op` writes: before Reshapes and Transposes that the lowering
/// put in, whose operands are no tensors of the model.
std::size_t computing_op(const qnn::Graph& graph, std::size_t op,
                         const std::unordered_map<std::string, std::size_t>& writer,
                         const std::unordered_set<std::string>& named) {
  while (graph.ops[op].type == "Reshape" || graph.ops[op].type == "Transpose") {
    const std::string& input = graph.ops[op].inputs.front();
    const auto before = writer.find(input);
    if (named.contains(input) || before == writer.end() || before->second >= op) {
      break;
    }
    op = before->second;
  }
  return op;
}

/// Every tensor of the model that an operator of the graph writes.
std::vector<VerifiedTensor> written_tensors(const qnn::LoweredGraph& lowered) {
  const auto writer = writers(lowered.graph);
  std::unordered_map<std::string, const qnn::Tensor*> by_name;
  std::map<std::string, qnn::TensorPlace> places = lowered.places;
  for (const qnn::Tensor& tensor : lowered.graph.tensors) {
    by_name.emplace(tensor.name, &tensor);
    if (tensor.kind == qnn::TensorKind::app_read) {  // graph outputs keep the model's names
      places.try_emplace(tensor.name, qnn::TensorPlace{.name = tensor.name});
    }
  }
  std::unordered_set<std::string> named;
  for (const auto& [name, place] : places) {
    named.insert(place.name);
  }
  std::vector<VerifiedTensor> found;
  for (const auto& [name, place] : places) {
    const auto op = writer.find(place.name);
    const auto tensor = by_name.find(place.name);
    if (op == writer.end() || tensor == by_name.end()) {
      continue;
    }
    const std::size_t computes = computing_op(lowered.graph, op->second, writer, named);
    found.push_back(
        {.name = name,
         .stored = without_data(*tensor->second),
         .layout = place.layout,
         .op = op->second,
         .op_name = lowered.graph.ops[computes].name,
         .op_type = lowered.graph.ops[computes].type,
         .group = computes < lowered.groups.size() ? lowered.groups[computes] : -1,
         .output = tensor->second->kind == qnn::TensorKind::app_read && place.name == name});
  }
  std::ranges::stable_sort(found, [](const VerifiedTensor& a, const VerifiedTensor& b) {
    return std::tie(a.op, a.name) < std::tie(b.op, b.name);
  });
  return found;
}

std::optional<float> constant_number(const GraphIndex& graph, const Model& model,
                                     const std::string& name) {
  const onnx::TensorProto* tensor = graph.constant(name);
  if (tensor == nullptr) {
    return std::nullopt;
  }
  const std::vector<float> values = model.floats(*tensor);
  return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
}

bool is_float(const GraphIndex& graph, const std::string& tensor) {
  const int type = graph.type(tensor).elem_type;
  return type == 0 || is_float_type(type);
}

bool contains(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(
      words, [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

std::vector<VerifiedTensor> verified_tensors(const qnn::LoweredGraph& lowered,
                                             const std::string& which) {
  std::vector<VerifiedTensor> tensors = written_tensors(lowered);
  if (which == "outputs") {
    std::erase_if(tensors, [](const VerifiedTensor& t) { return !t.output; });
    return tensors;
  }
  if (which == "all") {
    const auto inner = inner_tensors(lowered);
    std::erase_if(tensors, [&inner](const VerifiedTensor& t) {
      const auto found = inner.find(t.stored.name);
      return !t.output && found != inner.end() && found->second;
    });
    return tensors;
  }
  std::vector<std::string> names;
  std::ranges::transform(tensors, std::back_inserter(names), &VerifiedTensor::name);
  std::erase_if(tensors, [&](const VerifiedTensor& t) { return !glob_match(which, t.name); });
  if (tensors.empty()) {
    const std::string close = closest_match(which, names);
    throw Error(ErrorKind::invalid_argument,
                "--tensors '" + which + "' matches none of the " + std::to_string(names.size()) +
                    " tensors that the target computes" +
                    (close.empty() ? "; expected outputs, all, or a pattern on names"
                                   : "; the closest name is '" + close + "'"));
  }
  return tensors;
}

std::string name_in_simulation(const GraphIndex& simulation, const Model& model,
                               const VerifiedTensor& tensor) {
  const float wanted = step_of(tensor.stored);
  std::string found;
  for (const Consumer& reader : simulation.consumers(tensor.name)) {
    const onnx::NodeProto& quantize = simulation.graph().node(reader.node);
    if (quantize.op_type() != "QuantizeLinear" || reader.slot != 0) {
      continue;
    }
    for (const Consumer& next : simulation.consumers(quantize.output(0))) {
      const onnx::NodeProto& dequantize = simulation.graph().node(next.node);
      if (dequantize.op_type() != "DequantizeLinear" || next.slot != 0) {
        continue;
      }
      const bool same = constant_number(simulation, model, quantize.input(1)) == wanted;
      if (found.empty() || same) {
        found = dequantize.output(0);
      }
      if (same) {
        return found;
      }
    }
  }
  const bool known = simulation.producer(tensor.name) >= 0;
  return found.empty() && known && is_float(simulation, tensor.name) ? tensor.name : found;
}

int first_departure(const qnn::Graph& graph, const std::vector<VerifiedTensor>& tensors,
                    const std::vector<bool>& departs) {
  std::unordered_map<std::string, int>
      compared;  // by tensor of the graph: index of one that departs
  std::unordered_map<std::string, bool> known, tainted;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    known[tensors[i].stored.name] = known[tensors[i].stored.name] || departs[i];
    if (departs[i]) {
      compared.emplace(tensors[i].stored.name, static_cast<int>(i));
    }
  }
  for (const qnn::Op& op : graph.ops) {
    const bool before = std::ranges::any_of(op.inputs, [&tainted](const std::string& input) {
      const auto found = tainted.find(input);
      return found != tainted.end() && found->second;
    });
    for (const std::string& output : op.outputs) {
      const auto own = known.find(output);
      if (own != known.end() && own->second && !before) {
        return compared.at(output);
      }
      tainted[output] = own != known.end() ? own->second : before;
    }
  }
  return -1;
}

std::string likely_departure(const VerifiedTensor& tensor) {
  constexpr std::array<std::string_view, 12> kFunctions = {"Softmax", "Norm", "Neuron", "Gelu",
                                                           "Sigmoid", "Tanh", "Exp",    "Log",
                                                           "Sqrt",    "Div",  "Power",  "Sin"};
  constexpr std::array<std::string_view, 5> kSums = {"Conv", "FullyConnected", "MatMul", "Lstm",
                                                     "Gru"};
  const std::string type(qnn::name_of(tensor.stored.type));
  std::string cause;
  if (type.starts_with("float")) {
    cause = "computed in float16 by the target, in float32 by the simulation";
  } else if (contains(tensor.op_type, kFunctions)) {
    cause = "the target computes this function in integers of its own, from tables or polynomials";
  } else if (contains(tensor.op_type, kSums)) {
    cause = "sums and requantization in the target's integers";
  } else if (contains(tensor.op_type,
                      std::array<std::string_view, 4>{"Pool", "Reduce", "Resize", "ElementWise"})) {
    cause = "requantization in the target's integers";
  } else {
    cause = "unknown; an operator that moves data should not differ";
  }
  if (tensor.group >= 0) {
    cause += "; super group " + std::to_string(tensor.group) + " is computed in one step";
  }
  return cause;
}

}  // namespace halfstep
