#include "cli/output_file.h"

#include <cerrno>
#include <cstddef>
#include <string_view>

#include <unistd.h>

namespace halfstep::cli {

bool write_standard_output(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return errno == EPIPE;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace halfstep::cli
