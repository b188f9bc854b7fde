#include "halfstep/adaptation/adapt.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/adaptation/invariants.h"
#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/adaptation/prepare/movement_groups.h"
#include "halfstep/adaptation/steps.h"
#include "halfstep/model/node_metadata.h"

namespace halfstep {
namespace {

constexpr std::string_view kSpecification =
    "QAIRT quantization specification, \"Target specific processing\"";

constexpr std::array<AdaptationPass, 5> kPasses = {{
    {.name = "data-movement",
     .summary = "equal encodings along chains of operators that copy or select values",
     .source = kSpecification,
     .run = spread_data_movement},
    {.name = "super-groups",
     .summary = "ops that run as one; their inner tensors get no encoding",
     .source = kSpecification,
     .run = tag_super_groups},
    {.name = "op-precision",
     .summary = "the kernel of every op, and the types it reads and writes",
     .source = kSpecification,
     .run = select_precision},
    {.name = "converts",
     .summary = "Converts where producer, user and consumer differ",
     .source = kSpecification,
     .run = insert_converts},
    {.name = "static-tensors",
     .summary = "encodings of constants and biases",
     .source = kSpecification,
     .run = encode_static_tensors},
}};

/// Marks the nodes of super groups: halfstep.group_op is the pattern, halfstep.group the tensor at
/// the end.
void mark_groups(Model& model, const AdaptationState& state) {
  for (const Unit& unit : state.units) {
    if (unit.kind != Unit::Kind::group) {
      continue;
    }
    for (const int node : unit.nodes) {
      onnx::NodeProto& proto = *model.graph().mutable_node(node);
      set_metadata(proto, kGroupOpKey, unit.pattern->name);
      set_metadata(proto, kGroupKey, state.node(unit.nodes.back()).output(0));
    }
  }
}

void run_passes(AdaptationState& state) {
  for (const AdaptationPass& pass : kPasses) {
    if (!is_skipped(state.options.skip, pass.name)) {
      pass.run(state);
      state.done.push_back(pass.name);
      verify_after(state, pass.name);
    }
  }
}

/// Where passes were left out, tensors keep what their kernel writes, or what was asked for.
void complete(AdaptationState& state) {
  for (const std::string& tensor : state.graph.tensor_names()) {
    const Encoding* wished = state.requested.find(tensor);
    if (state.result.find(tensor) != nullptr || state.inner.contains(tensor) || wished == nullptr ||
        (state.graph.consumers(tensor).empty() && !state.graph.is_graph_output(tensor))) {
      continue;
    }
    state.result.set(tensor, *wished);
  }
}

void count(AdaptationState& state, std::size_t first) {
  for (std::size_t i = first; i < state.diagnostics.size(); ++i) {
    const std::string& rule = state.diagnostics[i].rule;
    state.totals.default_float += rule == "adapt/default-float" ? 1 : 0;
    state.totals.super_groups += rule == "adapt/super-group" ? 1 : 0;
    state.totals.propagated += rule.starts_with("adapt/chain-") ? 1 : 0;
    state.totals.adapted += rule == "adapt/width" || rule == "adapt/sign" ||
                                    rule == "adapt/symmetric-operand" ||
                                    rule == "adapt/fixed-encoding" || rule == "adapt/static-type" ||
                                    rule == "adapt/static-float" || rule == "adapt/bias"
                                ? 1
                                : 0;
  }
}

/// Nodes that no graph output depends on: there is nothing to decide about them.
void remove_unused(Model& model, Diagnostics& diagnostics) {
  const GraphIndex graph(model);
  GraphEditor editor(model);
  std::vector<bool> needed(static_cast<std::size_t>(graph.graph().node_size()), false);
  for (int i = graph.graph().node_size() - 1; i >= 0; --i) {
    const auto& outputs = graph.graph().node(i).output();
    const auto is_read = [&](const std::string& tensor) {
      const auto readers = graph.consumers(tensor);
      return graph.is_graph_output(tensor) ||
             std::any_of(readers.begin(), readers.end(), [&needed](const Consumer& reader) {
               return needed[static_cast<std::size_t>(reader.node)];
             });
    };
    needed[static_cast<std::size_t>(i)] = std::any_of(outputs.begin(), outputs.end(), is_read);
    if (!needed[static_cast<std::size_t>(i)]) {
      editor.remove_node(i);
      diagnostics.push_back(
          {.severity = Severity::note,
           .rule = "adapt/unused-node",
           .subject = outputs.empty() ? "" : outputs[0],
           .message = graph.label(i) + " is left out: no output of the model depends on it"});
    }
  }
  editor.apply();
}

}  // namespace

std::span<const AdaptationPass> adaptation_passes() noexcept { return kPasses; }

AdaptResult adapt(Model& model, EncodingTable requested, const Target& target,
                  const AdaptOptions& options, Diagnostics& diagnostics) {
  require_steps(options.skip, target);
  if (target.kernels() == nullptr) {
    return {.encodings = std::move(requested)};
  }
  const std::size_t first = diagnostics.size();
  remove_unused(model, diagnostics);
  auto graph = std::make_unique<GraphIndex>(model);
  MovementGroups groups;
  const int collapsed = is_skipped(options.skip, "movement-groups")
                            ? 0
                            : groups.collapse(model, *graph, requested, target, diagnostics);
  if (collapsed > 0) {
    graph = std::make_unique<GraphIndex>(model);
  }
  AdaptationState state(model, *graph, target, std::move(requested), options, diagnostics);
  groups.reserve_names(state.names);
  try {
    run_passes(state);
    if (!options.skip.empty()) {
      complete(state);
    }
    mark_groups(model, state);
    state.editor.apply();
  } catch (...) {
    groups.expand(model);
    throw;
  }
  groups.expand(model);
  count(state, first);
  state.totals.movement_groups = collapsed;
  AdaptResult result{.encodings = std::move(state.result),
                     .totals = state.totals,
                     .inner = std::move(state.inner)};
  result.inner.insert(groups.inner().begin(), groups.inner().end());
  return result;
}

}  // namespace halfstep
