#include "halfstep/frontends/tflite/tflite.h"

#include <cstring>
#include <utility>

#include "halfstep/frontends/tflite/builder.h"
#include "halfstep/frontends/tflite/file.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {

bool is_tflite(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
}

Model tflite_from_bytes(std::span<const std::byte> bytes, std::string name,
                        Diagnostics& diagnostics) {
  onnx::ModelProto proto;
  try {
    if (!is_tflite(bytes)) {
      throw Error(ErrorKind::invalid_file, "is no TensorFlow Lite model");
    }
    tflite::File file = tflite::read_file(bytes, diagnostics);
    tflite::Builder builder(file, diagnostics);
    for (const tflite::Operator& op : file.operators) {
      builder.run(op);
    }
    proto = builder.take();
  } catch (const Error& error) {
    throw error.within(name);
  }
  return Model::from_proto(std::move(proto), std::move(name));
}

Model load_tflite(const std::filesystem::path& path, Diagnostics& diagnostics) {
  const MappedFile file(path);
  return tflite_from_bytes(file.bytes(), path.string(), diagnostics);
}

}  // namespace halfstep
