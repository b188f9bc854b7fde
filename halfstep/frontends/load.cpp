#include "halfstep/frontends/load.h"

#include <utility>

#include "halfstep/frontends/onnx.h"
#include "halfstep/frontends/tflite/tflite.h"
#include "halfstep/support/file.h"

namespace halfstep {

Model load_model(const std::filesystem::path& path, Diagnostics& diagnostics,
                 const std::map<std::string, Shape>& extents) {
  const bool tflite = is_tflite(MappedFile(path).bytes());
  return tflite ? load_tflite(path, diagnostics, extents) : load_onnx(path, diagnostics);
}

Model model_from_bytes(std::span<const std::byte> bytes, std::string name, Diagnostics& diagnostics,
                       const std::map<std::string, Shape>& extents) {
  return is_tflite(bytes) ? tflite_from_bytes(bytes, std::move(name), diagnostics, extents)
                          : Model::from_bytes(bytes, std::move(name));
}

}  // namespace halfstep
