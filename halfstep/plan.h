#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "halfstep/adaptation/structure.h"
#include "halfstep/calibration/recipe.h"
#include "halfstep/encodings/encoding_table.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/targets/target.h"

namespace halfstep {

/// An activation that will be quantized.
struct PlannedActivation {
  std::string tensor{};
  ResolvedSpec spec;
  /// The tensor whose encoding this one carries (data movement); empty: it is observed itself.
  std::string source{};
};

/// A constant that will be stored as integers: a weight, or a constant operand of a quantized op.
struct PlannedWeight {
  std::string tensor{};
  std::vector<Consumer> uses{};     ///< the inputs that this encoding is for
  ResolvedSpec spec;                ///< with its axes filled in
  std::int64_t channel_axis = 0;    ///< of the tensor, for the op of its first use; not negative
  const Encoding* given = nullptr;  ///< the encoding it already has; then `spec` does not count
};

/// A bias that will be int32 with scale = input scale x weight scale.
struct PlannedBias {
  std::string tensor{};
  Consumer use{};
  std::string input{};     ///< activation of the op
  std::size_t weight = 0;  ///< index into Plan::weights
  Consumer weight_use{};   ///< the input of the op that reads the weight
  std::int64_t channel_repeat = 1;
};

/// What becomes of one node.
struct NodePlan {
  bool quantized = false;    ///< computed on quantized activations
  bool weight_only = false;  ///< float, but its weight is stored as integers
  bool carries = false;      ///< data movement inside a quantized region
  std::string
      float_reason{};  ///< why it stays float; empty if it does not, or has no float tensors
};

/// A weight that stays float although its node is quantized, and why.
struct FloatWeight {
  std::string tensor{};
  std::string reason{};
};

/// Decisions before anything is measured: which tensor gets what, and why the others stay float.
struct Plan {
  std::vector<PlannedActivation> activations{};  ///< in graph order, sources before their copies
  std::vector<PlannedWeight> weights{};
  std::vector<PlannedBias> biases{};
  std::vector<FloatWeight> float_weights{};
  std::vector<NodePlan> nodes{};  ///< by node index
  std::set<std::string> inner{};  ///< tensors inside super groups: not observed
  [[nodiscard]] bool empty() const noexcept { return activations.empty() && weights.empty(); }
};

/// Errors: invalid_argument for a rule that matches nothing (with the closest name), for a block
/// that does not divide where the recipe names no fallback (naming the tensor).
[[nodiscard]] Plan make_plan(const Model& model, const GraphIndex& graph, const Recipe& recipe,
                             const Target& target, Diagnostics& diagnostics);

}  // namespace halfstep
