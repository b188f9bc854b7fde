#include "halfstep/adaptation/adapt.h"

#include <array>
#include <utility>

#include "halfstep/adaptation/passes/passes.h"
#include "halfstep/adaptation/steps.h"

namespace halfstep {
namespace {

constexpr std::string_view kSpecification =
    "QAIRT quantization specification, \"Target specific processing\"";

constexpr std::array<AdaptationPass, 5> kPasses = {{
    {"data-movement", "equal encodings along chains of operators that copy or select values",
     kSpecification, spread_data_movement},
    {"super-groups", "ops that run as one; their inner tensors get no encoding", kSpecification,
     tag_super_groups},
    {"op-precision", "the kernel of every op, and the types it reads and writes", kSpecification,
     select_precision},
    {"converts", "Converts where producer, user and consumer differ", kSpecification,
     insert_converts},
    {"static-tensors", "encodings of constants and biases", kSpecification, encode_static_tensors},
}};

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

}  // namespace

std::span<const AdaptationPass> adaptation_passes() noexcept { return kPasses; }

AdaptResult adapt(Model& model, EncodingTable requested, const Target& target,
                  const AdaptOptions& options, Diagnostics& diagnostics) {
  require_steps(options.skip, target);
  if (target.kernels() == nullptr) {
    return {.encodings = std::move(requested)};
  }
  const std::size_t first = diagnostics.size();
  const GraphIndex graph(model);
  AdaptationState state(model, graph, target, std::move(requested), options, diagnostics);
  for (const AdaptationPass& pass : kPasses) {
    if (!is_skipped(options.skip, pass.name)) {
      pass.run(state);
    }
  }
  state.editor.apply();
  count(state, first);
  return {.encodings = std::move(state.result),
          .totals = state.totals,
          .inner = std::move(state.inner)};
}

}  // namespace halfstep
