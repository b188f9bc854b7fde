#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "halfstep/evaluation/probe.h"

namespace halfstep {

/// How far one run of a tensor is from another one, over all samples.
struct Agreement {
  ErrorPower power{};
  /// Steps of the tensor's encoding between the two, at most; of tensors with one scale only.
  std::uint64_t max_steps = 0;
  std::uint64_t equal = 0;  ///< values less than half a step apart: the same code
  std::uint64_t codes = 0;  ///< values that were compared in steps; 0 without a scale

  /// Adds the values of a sample. `scale`: units of x per step, 0 for a tensor without steps.
  /// Formula: steps = round(|reference - actual| / scale).
  /// Edge:    values that are not finite in `reference` are left out; NaN only in `actual` is an
  /// infinite error of the largest number of steps. Errors: invalid_argument if the counts differ.
  void add(std::span<const float> reference, std::span<const float> actual, float scale);
  /// Share of equal codes, 0 to 1; empty without a scale.
  [[nodiscard]] std::optional<double> equal_share() const noexcept;
};

/// From where on two runs of a tensor are said to differ.
struct AgreementBound {
  double sqnr_db = 30;                       ///< differs if its SQNR is below
  std::optional<std::uint64_t> max_steps{};  ///< if set: differs if as many steps apart, or more

  /// Tensors without steps (float types) are always judged by the SQNR.
  [[nodiscard]] bool broken_by(const Agreement& agreement) const noexcept;
  /// "SQNR below 30 dB", "2 steps or more"
  [[nodiscard]] std::string text() const;
};

/// "30", "30dB", "2steps": a bound in words. Errors: invalid_argument with what is expected.
[[nodiscard]] AgreementBound parse_agreement_bound(std::string_view text);

}  // namespace halfstep
