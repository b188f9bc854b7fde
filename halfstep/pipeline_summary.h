#pragma once

#include "halfstep/pipeline.h"
#include "halfstep/plan.h"

namespace halfstep {

/// Rows "op type x activation / weight / bias type" with counts, most frequent first; `given`
/// encodings count like planned ones.
[[nodiscard]] std::vector<TypeRow> type_rows(const GraphIndex& graph, const Plan& plan,
                                             const EncodingTable& given);

/// Counts activations, weights and biases that are planned or given.
void count_quantized(const GraphIndex& graph, const Plan& plan, const EncodingTable& given,
                     QuantizeSummary& summary);

/// Tensors without an encoding, as the reason why they stay float. All of them are named.
[[nodiscard]] std::vector<FloatReason> bare_reasons(const GraphIndex& graph,
                                                    const EncodingTable& table);

/// Tensors that nobody gave an encoding, from the diagnostics of an adaptation (from `first` on).
[[nodiscard]] std::vector<FloatReason> default_float_reasons(const Diagnostics& diagnostics,
                                                             std::size_t first);

/// Reasons why nodes, and weights of quantized nodes, stay float: most frequent first, each with
/// its first three names.
[[nodiscard]] std::vector<FloatReason> float_reasons(const GraphIndex& graph, const Plan& plan);

/// Bytes of all initializers and Constant values of the main graph.
[[nodiscard]] std::uint64_t weight_bytes(const Model& model);

/// Largest resident memory of the process so far, in bytes.
[[nodiscard]] std::uint64_t peak_memory();

/// Entries of the user's file that the target made something else of, from the diagnostics of an
/// adaptation (from `first` on).
void mark_adapted(EntryAccount& overrides, const Diagnostics& diagnostics, std::size_t first);

/// Why nothing was quantized: what the model has, and what stayed float.
[[nodiscard]] std::string nothing_to_quantize(const GraphIndex& graph,
                                              const QuantizeSummary& summary);

}  // namespace halfstep
