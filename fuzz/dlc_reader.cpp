// libFuzzer target: any bytes are either a DLC, or an Error that says why not.
#include <cstddef>
#include <cstdint>
#include <span>

#include "halfstep/engines/qnn/dlc/reader.h"
#include "halfstep/support/error.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    (void)halfstep::qnn::dlc::read(std::as_bytes(std::span(data, size)), "fuzz");
  } catch (const halfstep::Error& error) {
    if (error.kind() != halfstep::ErrorKind::invalid_file) {
      __builtin_trap();
    }
  }
  return 0;
}
