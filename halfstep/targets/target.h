#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/dtype.h"
#include "halfstep/core/fixed_ranges.h"
#include "halfstep/targets/kernel_facts.h"

namespace halfstep {

/// When a target computes an operator on quantized values.
enum class QuantizeWhen : std::uint8_t {
  never,    ///< not in the target's list: computed in the default float type
  always,   ///< its inputs are quantized for it
  between,  ///< only inside a region: inputs come from, and the result goes to, quantized ops or
            ///< the graph's border
  weight,   ///< only its constant weight is stored as integers
};

/// A subgraph that runs in one precision from start to end: a chain of ops, each stage one of
/// several types. Inner tensors have one reader, are no graph outputs and get no encoding. Source:
/// QAIRT quantization specification, "Tag super groups".
struct SuperGroup {
  std::string name{};
  std::vector<std::vector<std::string>> ops{};
  bool bias =
      false;  ///< the second stage adds a constant per output channel: the bias of the first
  std::vector<std::string> types{};  ///< of the activations it is fused for; empty: all
  bool odd_strides = false;          ///< only if no stride of the first op is even
  std::string source{};
};

/// An operator that copies or selects values of its first input: input and outputs carry equal
/// encodings. Source: QAIRT quantization specification, "Handle data movement ops".
struct DataMovementOp {
  std::string op_type{};
  std::string attribute{};  ///< if not empty, only with one of `values` ("" = not given)
  std::vector<std::string> values{};
  std::vector<int>
      zero_inputs{};  ///< only if these inputs are absent or constant zeros (Pad's value)
};

struct OpRule {
  QuantizeWhen when = QuantizeWhen::never;
  bool float_output = false;  ///< may write float when only float ops read it
  std::string why{};
  std::string source{};
};

/// What a chip can run. Read from a data file; contains no code. There are three kinds of files: a
/// list of quantized operators (cpu), tables of kernels (HTP, LPAI), and neither (none: encodings
/// are applied as given).
class Target {
 public:
  /// `name_or_path` is a shipped name ("cpu") or a path to a target file. A file that `extends`
  /// another one (a shipped name, or a path beside it) takes over every key that it does not have
  /// itself. Errors: invalid_argument listing the shipped names, or naming file, key, what was
  /// found, what was expected.
  [[nodiscard]] static Target load(const std::string& name_or_path);
  /// Names to load; files that are only there to be extended are left out.
  [[nodiscard]] static std::vector<std::string> shipped();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& summary() const noexcept { return summary_; }
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  /// What a tensor without encoding is.
  [[nodiscard]] Dtype default_float() const noexcept { return default_float_; }
  /// Version of the chip's architecture, 0 if it has none: kernels and rules may ask for a lowest.
  [[nodiscard]] int arch() const noexcept { return arch_; }
  /// Number by which the maker's libraries know a chip of this version, 0 if there is none.
  [[nodiscard]] int soc() const noexcept { return soc_; }
  /// No kernel computes in floating point: every tensor needs an integer encoding.
  [[nodiscard]] bool integer_only() const noexcept { return integer_only_; }
  /// Kernels of float32 tensors compute in float16.
  [[nodiscard]] bool float32_is_float16() const noexcept { return float32_is_float16_; }
  /// Sums of products of 8-bit codes become codes as halfstep/simulation/fixed_point.h has it.
  [[nodiscard]] bool fixed_point() const noexcept { return fixed_point_; }
  /// Ranges of results that need no samples.
  [[nodiscard]] const FixedRanges& fixed_ranges() const noexcept { return fixed_ranges_; }
  /// Null if the file has no tables of kernels.
  [[nodiscard]] const KernelFacts* kernels() const noexcept { return kernels_.get(); }
  /// The rule for an operator of the default ONNX domain.
  [[nodiscard]] OpRule rule(std::string_view op_type) const;
  [[nodiscard]] const std::map<std::string, OpRule, std::less<>>& rules() const noexcept {
    return rules_;
  }
  /// Null if the operator is no data movement.
  [[nodiscard]] const DataMovementOp* data_movement(std::string_view op_type) const;
  [[nodiscard]] const std::vector<DataMovementOp>& data_movement() const noexcept {
    return data_movement_;
  }
  /// Longest patterns first.
  [[nodiscard]] std::span<const SuperGroup> super_groups() const noexcept { return super_groups_; }

 private:
  std::string name_{}, summary_{}, source_{};
  Dtype default_float_ = Dtype::float32;
  int arch_ = 0, soc_ = 0;
  FixedRanges fixed_ranges_{};
  bool integer_only_ = false, float32_is_float16_ = false, fixed_point_ = false;
  std::shared_ptr<const KernelFacts> kernels_{};
  std::map<std::string, OpRule, std::less<>> rules_{};
  std::vector<DataMovementOp> data_movement_{};
  std::vector<SuperGroup> super_groups_{};
};

}  // namespace halfstep
