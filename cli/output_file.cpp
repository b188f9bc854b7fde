#include "cli/output_file.h"

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "cli/command_error.h"
#include "halfstep/support/error.h"

namespace halfstep::cli {
namespace {

namespace fs = std::filesystem;

void check_directory(const std::string& option, const fs::path& path) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string named = option + " " + path.string() + ": the directory " + directory.string();
  std::error_code error;
  if (!fs::exists(directory, error)) {
    throw CommandError(ErrorKind::io, named + " does not exist", "mkdir -p " + directory.string());
  }
  if (!fs::is_directory(directory, error)) {
    throw CommandError(ErrorKind::io, named + " is not a directory", "");
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    throw CommandError(ErrorKind::io,
                       named + " can't be written: " + std::generic_category().message(errno), "");
  }
}

}  // namespace

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

void check_output(const std::string& option, const fs::path& path,
                  const std::vector<fs::path>& inputs, bool force) {
  const std::string named = option + " " + path.string();
  std::error_code error;
  if (!path.has_filename() || fs::is_directory(path, error)) {
    throw UsageError(named + " is a directory", "give the name of a file in it");
  }
  if (fs::exists(path, error)) {
    for (const fs::path& input : inputs) {
      if (fs::equivalent(path, input, error)) {
        throw UsageError(named + " is also an input", "give another name");
      }
    }
    if (!fs::is_regular_file(path, error)) {
      throw UsageError(named + " exists and is not a regular file", "give another name");
    }
    if (!force) {
      throw UsageError(named + " exists", "--force overwrites it");
    }
  }
  check_directory(option, path);
}

}  // namespace halfstep::cli
