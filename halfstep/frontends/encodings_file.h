#pragma once

#include <filesystem>
#include <memory>

#include "halfstep/encodings/schema/read.h"
#include "halfstep/model/graph_index.h"

namespace halfstep {

/// The names of a model as the reader of encodings files asks for them: tensors of the main graph,
/// and
/// `<tensor>_<node>` for a single use. `graph` must outlive the result.
[[nodiscard]] std::unique_ptr<TensorNames> tensor_names(const GraphIndex& graph);
/// Every name is taken as it is: for files that are looked at without their model.
[[nodiscard]] std::unique_ptr<TensorNames> any_tensor_names();

/// Reads an encodings file of any version for a model.
/// Errors: those of read_encodings_text; invalid_file if the file is missing.
[[nodiscard]] EncodingsFile read_encodings(const std::filesystem::path& path,
                                           const GraphIndex& graph,
                                           const ReadEncodingsOptions& options,
                                           Diagnostics& diagnostics);

}  // namespace halfstep
