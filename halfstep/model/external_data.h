#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/model/blob.h"

namespace halfstep {

/// Maps the files of external data that the tensors of `model` name, relative to `directory`, and
/// replaces the references by tokens (small data: by raw_data).
/// Returns the files. Errors: invalid_file naming the tensor and the file (missing, outside of
/// `directory`, too short, a length that does not fit the shape).
std::vector<std::filesystem::path> map_external_data(onnx::ModelProto& model,
                                                     const std::filesystem::path& directory,
                                                     std::vector<Blob>& blobs);

/// `model` serialized, in which every token became a reference into the file `location`;
/// the data is handed to `sink`, aligned to pages.
[[nodiscard]] std::string write_external_data(
    onnx::ModelProto model, std::span<const Blob> blobs, const std::string& location,
    const std::function<void(std::span<const std::byte>)>& sink);

}  // namespace halfstep
