#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/client.h"
#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"
#include "halfstep/support/progress.h"
#include "halfstep/targets/target.h"

namespace halfstep {

/// What is wanted of an adapted model in the operators of its target.
struct TargetOutput {
  std::filesystem::path dlc{};                   ///< --dlc, -o FILE.dlc; empty: none
  bool validate = false;                         ///< --validate: ask the target's own validator
  std::string qnn_libraries{};                   ///< --qnn-libs; empty: see qnn::find_libraries
  std::map<std::string, Shape> input_extents{};  ///< -d: of inputs with free extents
  bool keep = false;                             ///< the caller wants the graph
  [[nodiscard]] bool wanted() const noexcept { return keep || validate || !dlc.empty(); }
};

/// What the target's own validator said about the operators of a graph: all accepted.
struct ValidatedGraph {
  std::string libraries{};                ///< folder
  std::map<std::string, int> accepted{};  ///< by type of operator
  [[nodiscard]] int count() const;
};
[[nodiscard]] Json to_json(const ValidatedGraph& validated);

/// Asks the validator of Qualcomm's libraries about every operator.
/// Errors: unsupported: no libraries (how to get them); operators that are refused, each with what
/// it has, what was said, and the nearest kernels.
[[nodiscard]] ValidatedGraph validate_graph(const qnn::LoweredGraph& lowered, const Target& target,
                                            const TargetOutput& wanted, const Progress& progress);

/// Writes the graph as a DLC to `file`, reads it back and compares. The file's own record holds the
/// target, the number of the super group of each operator in one, and the layout of each tensor
/// that lies in another order than the model's.
/// Errors: unsupported (no libraries; the library refuses or crashes), io.
void write_target_dlc(const qnn::LoweredGraph& lowered, const Target& target,
                      const TargetOutput& wanted, const std::filesystem::path& file,
                      const Progress& progress);

/// Says which weights in blocks became float16, because a DLC can't hold their scales.
void note_unpacked(const qnn::LoweredGraph& lowered, Diagnostics& diagnostics);

/// Are the libraries there that write a DLC?
[[nodiscard]] bool can_write_dlc(const std::string& qnn_libraries);

}  // namespace halfstep
