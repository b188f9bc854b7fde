#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/adaptation/state.h"

namespace halfstep {

/// The kernel that is nearest to what a node was asked to compute on.
struct KernelChoice {
  const Kernel* kernel = nullptr;
  std::vector<KernelType> in{};   ///< by operand of the lowered node
  std::vector<KernelType> out{};  ///< by ONNX output
  int rise = 0;                   ///< steps of precedence over all operands and outputs
  int weight_rise = 0;
  int flips = 0;
  bool symmetric_operand = false;  ///< a computed operand in the place of the weight must be
                                   ///< converted to a symmetric encoding
  int weight_bits = 0;     ///< bits that the weight's codes are stored in; 0: no integer weight
  bool fell_back = false;  ///< a nearer kernel was passed over under --fallback

  [[nodiscard]] bool nearer_than(const KernelChoice& other) const noexcept;
};

/// What a unit asks of its nodes: the type of the activation that enters or leaves.
struct ActivationBounds {
  std::optional<KernelType> in{};   ///< of the first operand
  std::optional<KernelType> out{};  ///< of the first output
};

/// Why no kernel fits: the check of the specification that failed, and the text for the user.
struct KernelRefusal {
  int check = 0;  ///< 0: none; 1 symmetry, 2 granularity, 5 nothing left
  std::string text{};
};

struct KernelSearch {
  std::optional<KernelChoice> choice{};
  KernelRefusal refusal{};
};

/// Looks for the kernel of a lowered node. Checks, in the order of the specification, on the
/// nearest kernel first: symmetry and granularity of the weight (an error, or under --fallback the
/// next kernel), sign, width. `encodings` are those of the operands, null where nothing counts (a
/// bias, an inner tensor of a group). Source: QAIRT quantization specification, "Select op
/// precision".
[[nodiscard]] KernelSearch find_kernel(const AdaptationState& state, int node,
                                       const std::vector<const Encoding*>& operands,
                                       const std::vector<const Encoding*>& outputs,
                                       const ActivationBounds& bounds);

/// Is this operand the weight, or the bias, of an operator with weight rules?
[[nodiscard]] bool has_weight_rules(const KernelFacts& facts, const std::string& op);
inline constexpr std::size_t kWeightOperand = 1, kBiasOperand = 2;

}  // namespace halfstep
