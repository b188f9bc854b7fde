#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <onnx/common/ir_pb_converter.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include "halfstep/model/check.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/merge_converted.h"
#include "halfstep/model/model.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/model/qti_ops.h"
#include "halfstep/model/visit.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

// The IR version that came with an opset version; older opsets work with IR 3.
// Source: versioning document of ONNX 1.23, released versions.
constexpr std::array kIrOfOpset = {
    std::pair{9, 4},   std::pair{10, 5},  std::pair{11, 6},  std::pair{12, 7},
    std::pair{15, 8},  std::pair{19, 9},  std::pair{21, 10}, std::pair{23, 11},
    std::pair{24, 12}, std::pair{25, 13}, std::pair{28, 14},
};

int ir_of_opset(int opset) {
  int ir = 3;
  for (const auto& [since, version] : kIrOfOpset) {
    ir = opset >= since ? version : ir;
  }
  return ir;
}

template <typename Message>
onnx::OperatorSetIdProto* default_import(Message& message) {
  for (auto& import : *message.mutable_opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") {
      return &import;
    }
  }
  return nullptr;
}

// Has the operator another definition in the two versions?
bool changes(const onnx::NodeProto& node, int from, int to) {
  if (!is_onnx_domain(node)) {
    return false;
  }
  const auto* before = onnx::OpSchemaRegistry::Schema(node.op_type(), from, "");
  const auto* after = onnx::OpSchemaRegistry::Schema(node.op_type(), to, "");
  return before == nullptr || after == nullptr || before->since_version() != after->since_version();
}

template <typename Nodes>
bool any_changes(const Nodes& nodes, int from, int to) {
  return std::ranges::any_of(nodes, [&](const onnx::NodeProto& node) {
    bool found = changes(node, from, to);
    for (const auto& attribute : node.attribute()) {
      for_each_graph_in(attribute, [&](const onnx::GraphProto& graph) {
        found = found || any_changes(graph.node(), from, to);
      });
    }
    return found;
  });
}

std::string one_line(const char* text) {
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

// Some adapters want shapes; where inference fails they say so themselves.
onnx::ModelProto with_shapes(onnx::ModelProto model) {
  register_qti_ops();
  onnx::ModelProto inferred = model;
  try {
    onnx::shape_inference::InferShapes(inferred);
    return inferred;
  } catch (const std::exception&) {
    return model;
  }
}

// The graph of `model` in the newer version, everything that the converter does not know put back.
void convert_graph(onnx::ModelProto model, int from, int to, onnx::GraphProto& graph) {
  onnx::OperatorSetIdProto* import = default_import(model);
  import->set_domain("");  // the converter compares the spelling
  import->set_version(from);
  model = with_shapes(std::move(model));
  onnx::ModelProto before;
  onnx::ModelProto after;
  try {
    const std::shared_ptr<onnx::Graph> parsed = onnx::ImportModelProto(model);
    onnx::assertNonNull(parsed);
    onnx::ExportModelProto(&before, parsed);
    after = onnx::version_conversion::DefaultVersionConverter().convert_version(
        model, onnx::OpSetID(from), onnx::OpSetID(to));
  } catch (const std::exception& error) {
    throw Error(ErrorKind::unsupported, "ONNX's version converter cannot raise the opset from " +
                                            std::to_string(from) + " to " + std::to_string(to) +
                                            ": " + one_line(error.what()) +
                                            "; export the model with a newer opset");
  }
  NameMaker names(graph);
  merge_converted(graph, before.graph(), after.graph(), names);
}

// A function as the graph of a model of its own.
void convert_function(onnx::FunctionProto& function, int from, int to) {
  onnx::ModelProto model;
  model.set_ir_version(onnx::IR_VERSION);
  *model.mutable_opset_import() = function.opset_import();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(function.name());
  for (const auto& name : function.input()) {
    graph.add_input()->set_name(name);
  }
  for (const auto& name : function.output()) {
    graph.add_output()->set_name(name);
  }
  *graph.mutable_node() = function.node();
  onnx::GraphProto converted = graph;
  convert_graph(std::move(model), from, to, converted);
  function.clear_node();
  for (auto& initializer : *converted.mutable_initializer()) {  // a function has none
    onnx::NodeProto* constant = function.add_node();
    constant->set_op_type("Constant");
    constant->add_output(initializer.name());
    onnx::AttributeProto* value = constant->add_attribute();
    value->set_name("value");
    value->set_type(onnx::AttributeProto::TENSOR);
    *value->mutable_t() = std::move(initializer);
  }
  function.mutable_node()->MergeFrom(converted.node());
}

void raise_functions(onnx::ModelProto& model, int to) {
  for (auto& function : *model.mutable_functions()) {
    onnx::OperatorSetIdProto* import = default_import(function);
    if (import == nullptr || import->version() >= to) {
      continue;
    }
    const auto from = static_cast<int>(import->version());
    try {
      if (any_changes(function.node(), from, to)) {
        convert_function(function, from, to);
      }
    } catch (const Error& error) {
      throw error.within("function '" + function.name() + "'");
    }
    import->set_version(to);
  }
}

}  // namespace

int Model::opset() const {
  for (const auto& import : proto().opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") {
      return static_cast<int>(import.version());
    }
  }
  return proto().ir_version() < 3 ? 1 : 0;
}

void Model::raise_opset(int version) {
  const int from = opset();
  if (version <= from) {
    return;
  }
  try {
    const int newest = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
    if (version > newest) {
      throw Error(ErrorKind::unsupported, "opset " + std::to_string(version) + " is newer than " +
                                              std::to_string(newest) +
                                              ", the newest this build knows");
    }
    onnx::ModelProto raised = proto();
    if (default_import(raised) == nullptr) {
      raised.add_opset_import()->set_version(version);
    } else {
      if (any_changes(raised.graph().node(), from, version)) {
        convert_graph(raised, from, version, *raised.mutable_graph());
      }
      default_import(raised)->set_version(version);
    }
    raise_functions(raised, version);
    std::swap(proto(), raised);
    raise_ir_version(ir_of_opset(version));
    try {
      check_model(proto());
    } catch (const Error& error) {
      std::swap(proto(), raised);
      throw Error(ErrorKind::unsupported, "raising the opset from " + std::to_string(from) +
                                              " to " + std::to_string(version) +
                                              " failed: " + error.what() +
                                              "; export the model with a newer opset");
    }
  } catch (const Error& error) {
    throw error.within(name());
  }
}

void Model::raise_ir_version(int version) {
  constexpr int kFreeInitializers = 4;
  if (proto().ir_version() >= version) {
    return;
  }
  if (proto().ir_version() < kFreeInitializers && version >= kFreeInitializers) {
    // Until then every initializer had to be an input, too; from then on that would mean that the
    // caller may replace it.
    std::unordered_set<std::string_view> names;
    for (const auto& initializer : graph().initializer()) {
      names.insert(initializer.name());
    }
    auto* inputs = graph().mutable_input();
    const auto first = std::remove_if(inputs->begin(), inputs->end(), [&names](const auto& input) {
      return names.contains(input.name());
    });
    inputs->erase(first, inputs->end());
  }
  proto().set_ir_version(version);
}

}  // namespace halfstep
