#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halfstep/model/graph_index.h"
#include "halfstep/outputs/qnn/lower.h"

/// What can be compared of a graph in the target's operators.
namespace halfstep {

/// A tensor of the user's model that is compared.
struct VerifiedTensor {
  std::string name{};     ///< of the model
  qnn::Tensor stored{};   ///< of the graph, without data
  qnn::Layout layout{};   ///< of `stored`; empty: the model's order
  std::size_t op = 0;     ///< of the graph: what writes it
  std::string op_name{};  ///< what computes it: behind moves of tensors that the model lacks
  std::string op_type{};  ///< "Conv2d"
  int group = -1;         ///< number of its super group
  bool output = false;    ///< of the graph
};

/// Which tensors: "outputs", "all" (what operators write, but for tensors inside super groups,
/// which the target does not compute), or a glob on names (of those inside super groups, too).
/// Tensors are in the order of the graph's operators. Errors: invalid_argument if the glob matches
/// nothing, naming the closest tensor.
[[nodiscard]] std::vector<VerifiedTensor> verified_tensors(const qnn::LoweredGraph& lowered,
                                                           const std::string& which);

/// The name in the simulation (a Q/DQ model) of what the target holds as `tensor`: what the
/// DequantizeLinear behind it gives, or the tensor itself. Where there are several, that of the
/// encoding of `tensor`. Empty if the simulation has no such float tensor.
[[nodiscard]] std::string name_in_simulation(const GraphIndex& simulation, const Model& model,
                                             const VerifiedTensor& tensor);

/// The first tensor that departs: `departs[i]` while the nearest compared tensors before it do not.
/// -1 if there is none.
[[nodiscard]] int first_departure(const qnn::Graph& graph,
                                  const std::vector<VerifiedTensor>& tensors,
                                  const std::vector<bool>& departs);

/// What is known to make the target's arithmetic differ from the simulation's at this tensor.
[[nodiscard]] std::string likely_departure(const VerifiedTensor& tensor);

}  // namespace halfstep
