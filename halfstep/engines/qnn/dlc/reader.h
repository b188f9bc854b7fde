#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/graph.h"
#include "halfstep/support/json.h"

/// Reads DLC files without any code of Qualcomm: container version 4, as QNN 2.51 writes it.
namespace halfstep::qnn::dlc {

struct MemberSize {
  std::string name{};
  std::uint64_t size = 0;
};

struct Contents {
  std::uint32_t major = 0, minor = 0;  ///< version of the container
  std::vector<MemberSize> members{};
  /// As stored: the IR library renames some operators ("Relu" is "Neuron" with a param
  /// "operation").
  std::vector<Graph> graphs{};
  std::string tool{};  ///< what wrote the file, and its version
  std::string tool_version{};
  Json metadata{};  ///< of halfstep's own record, see writer.h; null if there is none
};

struct ReadOptions {
  bool params = true;     ///< also the data of params that are tensors
  bool constants = true;  ///< also the data of constants
};

/// Errors: invalid_file naming file, member, graph, tensor or byte, what was found and expected.
/// Nothing in the file is trusted.
[[nodiscard]] Contents read(const std::filesystem::path& file, const ReadOptions& options = {});

/// The same for bytes; `name` is for messages.
[[nodiscard]] Contents read(std::span<const std::byte> bytes, const std::string& name,
                            const ReadOptions& options = {});

}  // namespace halfstep::qnn::dlc
