#include "halfstep/frontends/load.h"

#include "halfstep/frontends/onnx.h"
#include "halfstep/frontends/tflite/tflite.h"
#include "halfstep/support/file.h"

namespace halfstep {

Model load_model(const std::filesystem::path& path, Diagnostics& diagnostics) {
  const bool tflite = is_tflite(MappedFile(path).bytes());
  return tflite ? load_tflite(path, diagnostics) : load_onnx(path, diagnostics);
}

}  // namespace halfstep
