#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace halfstep::ort {

inline constexpr const char* kWatchDomain = "halfstep.watch";
inline constexpr const char* kWatchOp = "Watch";

/// A tensor that a watch op stands behind.
struct WatchPoint {
  std::size_t index = 0;      ///< into the list of watched names
  std::int64_t channels = 0;  ///< > 0: blocked (NCHWc) layout, with so many channels before padding
  bool operator==(const WatchPoint&) const = default;
};

/// How each watched tensor of a graph is reached.
struct WatchPlan {
  std::vector<WatchPoint> points{};  ///< by watch ops; their attribute `point` is the position here
  std::vector<std::size_t> as_outputs{};  ///< by graph outputs, which the graph has for them
};

/// Puts a watch op behind every tensor of `watch` that is float and that a node of the main graph
/// writes; empty names are passed over. The op takes over the tensor's name, so readers (subgraphs
/// too) don't change. A ReorderOutput that was only there for a graph output is dropped and what it
/// reads is watched. The tensors of `watch` that are graph outputs only to be watched (not in
/// `outputs`) stop being outputs; those that a watch op can't reach become or stay outputs.
[[nodiscard]] WatchPlan insert_watches(onnx::ModelProto& model, std::span<const std::string> watch,
                                       std::span<const std::string> outputs,
                                       const std::vector<bool>& is_float);

/// Adds an output without a type (the engine infers it) unless the graph has it already.
void add_output(onnx::GraphProto& graph, const std::string& tensor);

}  // namespace halfstep::ort
