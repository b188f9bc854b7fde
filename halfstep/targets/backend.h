#pragma once

#include <string>

namespace halfstep {

/// How a user names a target: by itself, or as qairt-converter does, by backend and arch.
struct TargetChoice {
  std::string target{};   ///< a shipped name or a path
  std::string backend{};  ///< HTP, LPAI or CPU, in any case
  std::string arch{};     ///< "v75" or "75"; of HTP only
};

struct ChosenTarget {
  std::string name{};    ///< for Target::load
  std::string remark{};  ///< what was chosen for the user, to be said; may be empty
};

/// Nothing given: "none". An arch alone means HTP; HTP without one is v75.
/// Errors: invalid_argument for an unknown backend or arch with the known ones, an arch of another
/// backend, a target beside a backend.
/// Source: QAIRT quantization specification, "Quantization inputs" (target).
[[nodiscard]] ChosenTarget choose_target(const TargetChoice& choice);

}  // namespace halfstep
