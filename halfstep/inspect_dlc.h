#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/engines/qnn/graph.h"
#include "halfstep/support/json.h"

namespace halfstep {

/// What a DLC holds, for `halfstep inspect`. Read without any code of Qualcomm's.
struct DlcReport {
  std::uint64_t file_bytes = 0;
  qnn::dlc::Contents contents{};
  std::map<std::string, int> groups{};  ///< number of the super group by operator
};

/// Errors: invalid_file (see qnn::dlc::read).
[[nodiscard]] DlcReport inspect_dlc(const std::filesystem::path& file);

/// {"size", "container", "tool", "members", "metadata", "graphs": [{"name", "operators",
/// "tensors"}]}
[[nodiscard]] Json to_json(const DlcReport& report);

/// "0.01, offset -128", "16 scales 0.01..0.02 on axis 3, 4 bits"; empty for none.
[[nodiscard]] std::string encoding_text(const qnn::Quantization& quantization);

/// "[1, 1]", "0.5", "true"; the first values of a long list.
[[nodiscard]] std::string param_text(const qnn::Param& param);

}  // namespace halfstep
