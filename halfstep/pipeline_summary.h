#pragma once

#include "halfstep/pipeline.h"
#include "halfstep/plan.h"

namespace halfstep {

/// Rows "op type x activation / weight / bias type" with counts, most frequent first.
[[nodiscard]] std::vector<TypeRow> type_rows(const GraphIndex& graph, const Plan& plan);

/// Reasons why nodes stay float, most frequent first, each with its first three nodes.
[[nodiscard]] std::vector<FloatReason> float_reasons(const GraphIndex& graph, const Plan& plan);

/// Bytes of all initializers and Constant values of the main graph.
[[nodiscard]] std::uint64_t weight_bytes(const Model& model);
/// The same after `plan`, before anything is written (dry run).
[[nodiscard]] std::uint64_t planned_weight_bytes(const Model& model, const GraphIndex& graph,
                                                 const Plan& plan);

/// Largest resident memory of the process so far, in bytes.
[[nodiscard]] std::uint64_t peak_memory();

}  // namespace halfstep
