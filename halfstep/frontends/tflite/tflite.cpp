#include "halfstep/frontends/tflite/tflite.h"

#include <cstring>
#include <string>
#include <utility>

#include "halfstep/frontends/tflite/builder.h"
#include "halfstep/frontends/tflite/file.h"
#include "halfstep/frontends/tflite/resize.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

/// The next step for extents that do not fit each other: empty, or those that the user may choose.
std::string open_inputs(const tflite::File& file) {
  std::string names;
  for (const int i : file.inputs) {
    const tflite::Tensor& input = file.tensors[static_cast<std::size_t>(i)];
    if (input.open) {
      names += (names.empty() ? "'" : "', '") + input.name;
    }
  }
  return names.empty() ? ""
                       : "; the file leaves extents of input " + names +
                             "' open, and those that it was converted with may not fit: give them "
                             "with -d NAME EXTENTS";
}

onnx::ModelProto build(tflite::File& file, Diagnostics& diagnostics, bool resized) {
  tflite::Builder builder(file, diagnostics, resized);
  const std::string advice = resized ? "" : open_inputs(file);
  for (const tflite::Operator& op : file.operators) {
    try {
      builder.run(op);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_file || advice.empty()) {
        throw;
      }
      throw Error(error.kind(), error.what() + advice);
    }
  }
  return builder.take();
}

}  // namespace

bool is_tflite(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
}

Model tflite_from_bytes(std::span<const std::byte> bytes, std::string name,
                        Diagnostics& diagnostics, const std::map<std::string, Shape>& extents) {
  onnx::ModelProto proto;
  try {
    if (!is_tflite(bytes)) {
      throw Error(ErrorKind::invalid_file, "is no TensorFlow Lite model");
    }
    tflite::File file = tflite::read_file(bytes, diagnostics);
    if (!extents.empty()) {
      tflite::resize_inputs(file, extents);
    }
    proto = build(file, diagnostics, !extents.empty());
  } catch (const Error& error) {
    throw error.within(name);
  }
  Model model = Model::from_proto(std::move(proto), std::move(name));
  model.set_source({}, bytes.size());
  return model;
}

Model load_tflite(const std::filesystem::path& path, Diagnostics& diagnostics,
                  const std::map<std::string, Shape>& extents) {
  const MappedFile file(path);
  Model model = tflite_from_bytes(file.bytes(), path.string(), diagnostics, extents);
  model.set_source({path}, file.bytes().size());
  return model;
}

}  // namespace halfstep
