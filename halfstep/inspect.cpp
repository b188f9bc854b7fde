#include "halfstep/inspect.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "halfstep/inspect_traps.h"
#include "halfstep/model/check.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/values.h"
#include "halfstep/model/visit.h"

namespace halfstep {
namespace {

constexpr std::size_t kBiggest = 10;

std::string domain_name(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string op_name(const onnx::NodeProto& node) {
  return is_onnx_domain(node) ? node.op_type() : node.domain() + "." + node.op_type();
}

// Reports are text; the checked names of a model are, but what else stands in it need not be.
std::string text(const std::string& bytes) { return is_utf8(bytes) ? bytes : "(not text)"; }

// Of a tensor whose type neither the model nor shape inference tells.
std::string tensor_type_name(int type) {
  return type == onnx::TensorProto::UNDEFINED ? "unknown" : element_type_name(type);
}

std::string type_name(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      return element_type_name(type.tensor_type().elem_type());
    case onnx::TypeProto::kSparseTensorType:
      return "sparse " + element_type_name(type.sparse_tensor_type().elem_type());
    case onnx::TypeProto::kSequenceType:
      return "sequence of " + type_name(type.sequence_type().elem_type());
    case onnx::TypeProto::kOptionalType:
      return "optional " + type_name(type.optional_type().elem_type());
    case onnx::TypeProto::kMapType:
      return "map";
    case onnx::TypeProto::kOpaqueType:
      return "opaque";
    default:
      return "unknown";
  }
}

PortReport port(const onnx::ValueInfoProto& value) {
  PortReport report{.name = value.name(), .type = type_name(value.type())};
  report.has_shape = value.type().has_tensor_type() && value.type().tensor_type().has_shape();
  if (report.has_shape) {
    for (const auto& dim : value.type().tensor_type().shape().dim()) {
      report.shape.push_back(dim.has_dim_value()   ? std::to_string(dim.dim_value())
                             : dim.has_dim_param() ? text(dim.dim_param())
                                                   : "?");
    }
  }
  return report;
}

void describe_header(const onnx::ModelProto& proto, ModelReport& report) {
  report.ir_version = proto.ir_version();
  for (const auto& import : proto.opset_import()) {
    report.opsets[domain_name(import.domain())] = import.version();
  }
  report.producer = proto.producer_name();
  if (!proto.producer_version().empty()) {
    report.producer += (report.producer.empty() ? "" : " ") + proto.producer_version();
  }
  for (const auto& entry : proto.metadata_props()) {
    report.metadata[text(entry.key())] = text(entry.value());
  }
}

void describe_graph(const onnx::ModelProto& proto, const GraphIndex& index, ModelReport& report) {
  const onnx::GraphProto& graph = proto.graph();
  std::set<std::string_view> filled;
  for (const auto& initializer : graph.initializer()) {
    filled.insert(initializer.name());
  }
  for (const auto& input : graph.input()) {
    if (!filled.contains(input.name())) {
      report.inputs.push_back(port(input));
    }
  }
  for (const auto& output : graph.output()) {
    report.outputs.push_back(port(output));
  }
  report.nodes = graph.node_size();
  for_each_graph(graph, [&report](const onnx::GraphProto&) { ++report.subgraphs; });
  --report.subgraphs;  // the main graph itself
  for (const auto& function : proto.functions()) {
    report.functions.push_back(text(function.domain() + "." + function.name()));
  }
  std::set<std::string> custom;
  for_each_node(proto, [&](const onnx::NodeProto& node) {
    ++report.ops[op_name(node)];
    if (!is_onnx_domain(node) && node.domain() != "ai.onnx.ml") {
      custom.insert(node.domain());
    }
  });
  report.custom_domains.assign(custom.begin(), custom.end());
  for (const auto& node : graph.node()) {
    for (const auto& output : node.output()) {
      if (!output.empty() && index.constant(output) == nullptr) {
        ++report.activations[tensor_type_name(index.type(output).elem_type)];
      }
    }
  }
}

void add_weight(const onnx::TensorProto& tensor, const std::string& name, ModelReport& report) {
  const auto values =
      static_cast<std::uint64_t>(std::max<std::int64_t>(element_count(shape_of(tensor)), 0));
  const std::uint64_t bytes = byte_size(tensor).value_or(0);
  for (TypeReport* type :
       {&report.weights_total, &report.weights[element_type_name(tensor.data_type())]}) {
    type->tensors += 1;
    type->values += values;
    type->bytes += bytes;
  }
  report.biggest.push_back({.name = name,
                            .type = element_type_name(tensor.data_type()),
                            .shape = shape_of(tensor),
                            .bytes = bytes});
}

void describe_weights(const onnx::ModelProto& proto, ModelReport& report) {
  for_each_graph_of_model(proto, [&report](const onnx::GraphProto& graph) {
    for (const auto& initializer : graph.initializer()) {
      add_weight(initializer, initializer.name(), report);
    }
  });
  for_each_node(proto, [&report](const onnx::NodeProto& node) {
    for (const auto& attribute : node.attribute()) {
      for_each_tensor_in(attribute, [&](const onnx::TensorProto& tensor) {
        add_weight(tensor, node.output_size() > 0 ? node.output(0) : tensor.name(), report);
      });
    }
  });
  std::ranges::stable_sort(report.biggest, std::ranges::greater(), &WeightReport::bytes);
  report.biggest.resize(std::min(report.biggest.size(), kBiggest));
}

std::string granularity(const onnx::NodeProto& node, const GraphIndex& index) {
  if (int_attribute(node, "block_size", 0) > 0) {
    return "per block";
  }
  const TensorType scale = index.type(node.input(1));
  if (!scale.shape) {
    return "unknown";
  }
  return scale.shape->empty() || element_count(*scale.shape) == 1 ? "per tensor" : "per channel";
}

void describe_encodings(const onnx::GraphProto& graph, const GraphIndex& index,
                        ModelReport& report) {
  using Row = std::tuple<std::string, std::string, std::string>;
  std::map<Row, int> rows;
  for (const auto& node : graph.node()) {
    if (node.op_type() != "DequantizeLinear" || node.input_size() < 2) {
      continue;
    }
    const std::string& quantized = node.input(0);
    const bool constant = index.constant(quantized) != nullptr;
    const int type = index.type(quantized).elem_type;
    const char* of = !constant                          ? "activation"
                     : type == onnx::TensorProto::INT32 ? "bias"
                                                        : "weight";
    rows[{of, tensor_type_name(type), granularity(node, index)}] += 1;
  }
  for (const auto& [row, count] : rows) {
    report.encodings.push_back({.of = std::get<0>(row),
                                .type = std::get<1>(row),
                                .granularity = std::get<2>(row),
                                .tensors = count});
  }
}

Json to_json(const PortReport& port) {
  Json json{{"name", port.name}, {"type", port.type}};
  json["shape"] = port.has_shape ? Json(port.shape) : Json();
  return json;
}

Json to_json(const TypeReport& type) {
  return Json{{"tensors", type.tensors}, {"values", type.values}, {"bytes", type.bytes}};
}

Json to_json(const Diagnostic& diagnostic) {
  constexpr const char* kSeverities[] = {"note", "warning", "error"};
  return Json{{"severity", kSeverities[static_cast<std::size_t>(diagnostic.severity)]},
              {"rule", diagnostic.rule},
              {"subject", diagnostic.subject},
              {"message", diagnostic.message}};
}

Json to_json(const WeightReport& weight) {
  return Json{{"name", weight.name},
              {"type", weight.type},
              {"shape", weight.shape},
              {"bytes", weight.bytes}};
}

Json to_json(const EncodingReport& encoding) {
  return Json{{"of", encoding.of},
              {"type", encoding.type},
              {"granularity", encoding.granularity},
              {"tensors", encoding.tensors}};
}

template <typename Items>
Json to_json_array(const Items& items) {
  Json json = Json::array();
  for (const auto& item : items) {
    json.push_back(to_json(item));
  }
  return json;
}

}  // namespace

ModelReport inspect(const Model& model, Diagnostics loading) {
  ModelReport report{.name = model.name(), .diagnostics = std::move(loading)};
  const GraphIndex index(model);
  report.file_bytes = model.source_size();
  describe_header(model.proto(), report);
  describe_graph(model.proto(), index, report);
  describe_weights(model.proto(), report);
  describe_encodings(model.graph(), index, report);
  find_traps(model, index, report.diagnostics);
  return report;
}

Json to_json(const ModelReport& report) {
  Json weights = Json::object();
  for (const auto& [type, counts] : report.weights) {
    weights[type] = to_json(counts);
  }
  Json total = to_json(report.weights_total);
  total["by_type"] = std::move(weights);
  total["biggest"] = to_json_array(report.biggest);
  return Json{{"model", report.name},
              {"file_bytes", report.file_bytes},
              {"ir_version", report.ir_version},
              {"opsets", report.opsets},
              {"producer", report.producer},
              {"metadata", report.metadata},
              {"inputs", to_json_array(report.inputs)},
              {"outputs", to_json_array(report.outputs)},
              {"nodes", report.nodes},
              {"subgraphs", report.subgraphs},
              {"functions", report.functions},
              {"ops", report.ops},
              {"custom_domains", report.custom_domains},
              {"weights", std::move(total)},
              {"activations", report.activations},
              {"encodings", to_json_array(report.encodings)},
              {"diagnostics", to_json_array(report.diagnostics)}};
}

}  // namespace halfstep
