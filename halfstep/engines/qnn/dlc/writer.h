#pragma once

#include <filesystem>
#include <string_view>

#include "halfstep/engines/qnn/graph.h"
#include "halfstep/support/json.h"

namespace halfstep::qnn::dlc {

/// Names of members: halfstep's own record, and the records of Qualcomm's tools (with a version).
constexpr std::string_view kOwnRecord = "halfstep.json";
constexpr std::string_view kHistory = "dlc.metadata.history.";
constexpr std::string_view kMetadata = "dlc.metadata";
/// In the own record: for each tensor with a block encoding the extents of a block.
constexpr std::string_view kBlocksKey = "blocks";

/// The graph in the form that libQnnIr stores rightly: HardSwish, which it stores as hard-sigmoid,
/// as ElementWiseNeuron with operation 3, and Relu6 and Relu1, which do not load, as ReluMinMax.
/// Errors: unsupported naming a tensor with float scales of blocks (Kind::block): the library
/// stores only the first extent of a block, and no file of that kind loads. Source: measured with
/// QNN 2.51.
[[nodiscard]] Graph storable(Graph graph);

/// Is it in that form? Errors: as storable.
[[nodiscard]] bool is_storable(const Graph& graph);

/// Turns what libQnnIr wrote into the final file: the same model, a history that names halfstep, no
/// times, true checksums, and halfstep's own record, the object `metadata` with the version of
/// halfstep and the extents of blocks added. The same graph is the same bytes.
/// Errors: invalid_argument (`metadata` is no object), invalid_file, io.
void finish(const std::filesystem::path& written, const Graph& graph, const Json& metadata,
            const std::filesystem::path& file);

}  // namespace halfstep::qnn::dlc
