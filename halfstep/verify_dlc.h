#pragma once

#include <filesystem>
#include <string>

#include "halfstep/outputs/qnn/lower.h"

namespace halfstep {

/// The graph of a DLC with what its record says about names, layouts and super groups. Constants
/// and params carry no data.
struct DlcSubject {
  qnn::LoweredGraph lowered{};
  std::string target{};  ///< in the record; may be empty
};

/// Errors: invalid_file (see qnn::dlc::read; more or less than one graph; a damaged record).
[[nodiscard]] DlcSubject read_dlc_subject(const std::filesystem::path& file);

}  // namespace halfstep
