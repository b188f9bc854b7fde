#pragma once

#include <map>
#include <optional>
#include <string>

#include "halfstep/support/json_reader.h"

namespace halfstep {

/// Bounds of what an operator can give; an empty one is measured.
struct FixedRange {
  std::optional<double> low{}, high{};
  bool operator==(const FixedRange&) const = default;
};

/// Fixed ranges of results, by operator type of ONNX: they need no samples and no value can leave
/// them. Clip and Relu6 (a Clip) take theirs from the operator itself, where that is asked for.
struct FixedRanges {
  std::map<std::string, FixedRange> ops{};
  bool clip = false;  ///< Clip with constant bounds has these as its range
  [[nodiscard]] bool empty() const noexcept { return ops.empty() && !clip; }
  bool operator==(const FixedRanges&) const = default;
};

/// Sigmoid, HardSigmoid, Softmax [0, 1]; Tanh [-1, 1]; Relu [0, none]; Clip its own bounds.
[[nodiscard]] FixedRanges bounded_functions();

/// The value under `key`, empty if there is none: true for bounded_functions(), false for none, or
/// an object {OP: [LOW, HIGH]} whose null bounds are measured; {"Clip": true} for Clip.
/// Errors: invalid_argument unless LOW <= 0 <= HIGH, as 0 must be representable.
[[nodiscard]] FixedRanges read_fixed_ranges(const JsonReader& reader, std::string_view key);
[[nodiscard]] Json to_json(const FixedRanges& ranges);

}  // namespace halfstep
