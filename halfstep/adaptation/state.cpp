#include "halfstep/adaptation/state.h"

#include <algorithm>
#include <utility>

#include "halfstep/model/node_metadata.h"
#include "halfstep/model/op_facts.h"
#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::size_t kMostErrors = 20;

}  // namespace

AdaptationState::AdaptationState(Model& model_in, const GraphIndex& graph_in,
                                 const Target& target_in, EncodingTable requested_in,
                                 AdaptOptions options_in, Diagnostics& diagnostics_in)
    : model(model_in),
      graph(graph_in),
      target(target_in),
      options(std::move(options_in)),
      diagnostics(diagnostics_in),
      keys(graph_in.graph()),
      requested(std::move(requested_in)),
      unit_of(static_cast<std::size_t>(graph_in.graph().node_size()), -1),
      nodes(static_cast<std::size_t>(graph_in.graph().node_size())),
      editor(model_in),
      names(graph_in.graph()) {
  for (int i = 0; i < graph.graph().node_size(); ++i) {
    nodes[static_cast<std::size_t>(i)].inputs.resize(
        static_cast<std::size_t>(node(i).input_size()));
    nodes[static_cast<std::size_t>(i)].outputs.resize(
        static_cast<std::size_t>(node(i).output_size()));
  }
  if (target.kernels() != nullptr) {
    lowered = lower_nodes(graph, *target.kernels(), [this](int i) -> const Encoding* {
      const std::optional<WeightFacts> weight = op_facts(node(i)).weight;
      return weight && weight->slot < node(i).input_size() ? wanted(i, weight->slot) : nullptr;
    });
  }
}

const Encoding* AdaptationState::wanted(int index, int slot) const {
  return requested.find_use({.node = keys.key(index), .slot = static_cast<std::size_t>(slot)},
                            node(index).input(slot));
}

void AdaptationState::note(std::string rule, const std::string& subject, std::string message) {
  diagnostics.push_back({.severity = Severity::note,
                         .rule = std::move(rule),
                         .subject = subject,
                         .message = std::move(message)});
}

void AdaptationState::warn(std::string rule, const std::string& subject, std::string message) {
  diagnostics.push_back({.severity = Severity::warning,
                         .rule = std::move(rule),
                         .subject = subject,
                         .message = std::move(message)});
}

void AdaptationState::fail(std::string_view rule, const std::string& message) {
  errors.push_back(message + " [" + std::string(rule) + "]");
}

void AdaptationState::throw_errors(std::string_view pass) const {
  if (errors.empty()) {
    return;
  }
  std::string text = model.name() + ": target " + target.name() + " can't run this model (" +
                     std::string(pass) + ", " + std::to_string(errors.size()) +
                     (errors.size() == 1 ? " error)" : " errors)");
  for (std::size_t i = 0; i < std::min(errors.size(), kMostErrors); ++i) {
    text += "\n  " + errors[i];
  }
  if (errors.size() > kMostErrors) {
    text += "\n  and " + std::to_string(errors.size() - kMostErrors) + " more";
  }
  throw Error(ErrorKind::unsupported, text);
}

bool is_convert(const onnx::NodeProto& node) {
  const std::string* mark = find_metadata(node, kOpKey);
  return mark != nullptr && *mark == kConvertMark;
}

void mark_convert(onnx::NodeProto& node) { set_metadata(node, kOpKey, kConvertMark); }

}  // namespace halfstep
