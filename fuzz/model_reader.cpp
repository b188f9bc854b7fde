// libFuzzer target: any bytes are either a model, or an Error that says why not. What it says of
// quantization is taken out of it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "halfstep/frontends/qdq.h"
#include "halfstep/model/graph_index.h"
#include "halfstep/model/model.h"
#include "halfstep/support/error.h"

namespace {

// False if the data does not fit its shape, or is no numbers.
bool readable(const halfstep::Model& model, const onnx::TensorProto& tensor) {
  try {
    (void)model.floats(tensor);
    return true;
  } catch (const halfstep::Error& error) {
    if (error.kind() == halfstep::ErrorKind::internal) {
      __builtin_trap();
    }
    return false;
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using halfstep::Model;
  try {
    const Model model = Model::from_bytes(std::as_bytes(std::span(data, size)), "fuzz");
    const std::string written = model.serialize();
    if (written.size() != model.serialized_size()) {
      __builtin_trap();
    }
    const halfstep::GraphIndex index(model);
    for (const auto& tensor : model.graph().initializer()) {
      (void)readable(model, tensor);
    }
    (void)Model::from_bytes(std::as_bytes(std::span(written)), "written");
    Model folded = model.clone();
    halfstep::Diagnostics diagnostics;
    (void)halfstep::extract_qdq(folded, diagnostics);
  } catch (const halfstep::Error& error) {
    if (error.kind() == halfstep::ErrorKind::internal) {
      __builtin_trap();
    }
  }
  return 0;
}
