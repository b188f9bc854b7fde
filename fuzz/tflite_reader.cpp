// libFuzzer target: any bytes are either a TensorFlow Lite model, or an Error that says why not.
#include <cstddef>
#include <cstdint>
#include <span>

#include "halfstep/frontends/qdq.h"
#include "halfstep/frontends/tflite/tflite.h"
#include "halfstep/model/model.h"
#include "halfstep/support/error.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    halfstep::Diagnostics diagnostics;
    halfstep::Model model =
        halfstep::tflite_from_bytes(std::as_bytes(std::span(data, size)), "fuzz", diagnostics);
    (void)halfstep::extract_qdq(model, diagnostics);
    (void)model.serialize();
  } catch (const halfstep::Error& error) {
    if (error.kind() == halfstep::ErrorKind::internal) {
      __builtin_trap();
    }
  }
  return 0;
}
