#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace halfstep {

enum class Severity : std::uint8_t { note, warning, error };

/// One thing halfstep decided or noticed, and why. Reports are lists of these.
struct Diagnostic {
  Severity severity = Severity::note;
  std::string rule{};  ///< stable id, e.g. "recipe/block-fallback"; `halfstep rule ID` explains it
  std::string subject{};  ///< name of the tensor or node
  std::string message{};  ///< what was found, what was done, what would help
  bool operator==(const Diagnostic&) const = default;
};

using Diagnostics = std::vector<Diagnostic>;

}  // namespace halfstep
