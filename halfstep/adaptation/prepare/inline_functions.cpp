#include "halfstep/adaptation/prepare/inline_functions.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include <onnx/inliner/inliner.h>

#include "halfstep/model/op_facts.h"
#include "halfstep/model/visit.h"

namespace halfstep {
namespace {

using FunctionName = std::pair<std::string, std::string>;  // domain, name

/// What a function holds: weights of its own, and calls of other functions.
struct Contents {
  bool weights = false;
  std::set<FunctionName> calls{};
};

Contents contents_of(const onnx::FunctionProto& function) {
  Contents contents;
  const auto look = [&contents](const onnx::NodeProto& node) {
    contents.weights = contents.weights || op_facts(node).weight.has_value();
    contents.calls.emplace(node.domain(), node.op_type());
  };
  for (const onnx::NodeProto& node : function.node()) {
    look(node);
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      for_each_graph_in(attribute, [&look](const onnx::GraphProto& graph) {
        for_each_graph(graph, [&look](const onnx::GraphProto& part) {
          for (const onnx::NodeProto& inner : part.node()) {
            look(inner);
          }
        });
      });
    }
  }
  return contents;
}

/// The functions that hold weights themselves or call one that does.
std::set<FunctionName> with_weights(const onnx::ModelProto& model) {
  std::map<FunctionName, std::set<FunctionName>> callers;
  std::vector<FunctionName> open;
  for (const onnx::FunctionProto& function : model.functions()) {
    const FunctionName name(function.domain(), function.name());
    const Contents contents = contents_of(function);
    for (const FunctionName& called : contents.calls) {
      callers[called].insert(name);
    }
    if (contents.weights) {
      open.push_back(name);
    }
  }
  std::set<FunctionName> found;
  while (!open.empty()) {
    const FunctionName name = open.back();
    open.pop_back();
    if (found.insert(name).second) {
      open.insert(open.end(), callers[name].begin(), callers[name].end());
    }
  }
  return found;
}

}  // namespace

int inline_functions(Model& model, Diagnostics& diagnostics) {
  const std::set<FunctionName> names = with_weights(model.proto());
  if (names.empty()) {
    return 0;
  }
  const auto set = onnx::inliner::FunctionIdSet::Create(
      onnx::inliner::FunctionIdVector(names.begin(), names.end()));
  onnx::inliner::InlineSelectedLocalFunctions(model.proto(), *set);
  // A function of another opset than the model's stays.
  std::set<FunctionName> left;
  for (const onnx::FunctionProto& function : model.proto().functions()) {
    left.emplace(function.domain(), function.name());
  }
  int inlined = 0;
  for (const auto& [domain, name] : names) {
    if (left.contains({domain, name})) {
      continue;
    }
    ++inlined;
    std::string function = domain;
    function.append(".").append(name);
    std::string message = "local function '";
    message.append(function).append(
        "' holds operators with weights; its body takes the place of every call, so that they can "
        "be quantized");
    diagnostics.push_back({.severity = Severity::note,
                           .rule = "prepare/inline-function",
                           .subject = std::move(function),
                           .message = std::move(message)});
  }
  return inlined;
}

}  // namespace halfstep
