#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "halfstep/model/blob.h"
#include "halfstep/model/model.h"

namespace halfstep {

struct Model::State {
  std::string name{};
  std::vector<std::filesystem::path> files{};  ///< that it was read from
  std::optional<std::uint64_t> source_size{};  ///< in bytes, of a format that is not ONNX
  onnx::ModelProto proto{};
  std::vector<Blob> blobs{};  ///< by token index; never shrinks, so copied tokens stay valid
};

}  // namespace halfstep
