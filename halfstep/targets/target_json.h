#pragma once

#include <string>
#include <string_view>

#include "halfstep/support/json.h"
#include "halfstep/targets/target.h"

namespace halfstep {

/// "never", "always", "between", "weight"
[[nodiscard]] std::string_view name(QuantizeWhen when) noexcept;

/// "if mode is constant, if input 2 is 0"; empty: always.
[[nodiscard]] std::string condition_text(const DataMovementOp& op);

/// What a target can run, as plain data: name, summary, source, default_float, arch, ops (rules of
/// operators), kernels (by operator of the target, those of its arch), data_movement, super_groups.
[[nodiscard]] Json to_json(const Target& target);

}  // namespace halfstep
