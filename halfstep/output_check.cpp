#include "halfstep/output_check.h"

#include <cerrno>
#include <system_error>

#include <unistd.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(ErrorKind kind, const std::string& message) { throw Error(kind, message); }

void check_directory(const std::string& named, const fs::path& path) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string place = named + ": the directory " + directory.string();
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (status.type() == fs::file_type::not_found) {
    refuse(ErrorKind::io, place + " does not exist; make it first (mkdir -p)");
  }
  if (status.type() == fs::file_type::none) {
    refuse(ErrorKind::io, place + " can't be reached: " + error.message());
  }
  if (!fs::is_directory(status)) {
    refuse(ErrorKind::io, place + " is not a directory; give a file in one");
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    refuse(ErrorKind::io, place + " can't be written: " + std::generic_category().message(errno));
  }
}

void check_existing(const std::string& named, const fs::path& path, const fs::file_status& status,
                    std::span<const InputFile> inputs, bool force) {
  for (const InputFile& input : inputs) {
    if (same_file(path, input.path)) {
      refuse(ErrorKind::invalid_argument, named + " is also an input (" + input.what + ", " +
                                              input.path.string() + "); give another name");
    }
  }
  if (!fs::is_regular_file(status)) {
    refuse(ErrorKind::invalid_argument,
           named + " exists and is not a regular file; give another name");
  }
  if (!force) {
    refuse(ErrorKind::invalid_argument,
           named + " exists; give another name, or --force (force=True in Python) to replace it");
  }
}

}  // namespace

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (a.empty() || b.empty()) {
    return false;
  }
  if (fs::equivalent(a, b, error)) {
    return true;
  }
  const fs::path first = fs::weakly_canonical(a, error);
  return !error && first == fs::weakly_canonical(b, error) && !error;
}

void check_output(const std::string& option, const fs::path& path,
                  std::span<const InputFile> inputs, bool force) {
  if (path.empty()) {
    return;
  }
  const std::string named = option + " " + path.string();
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!path.has_filename() || fs::is_directory(status)) {
    refuse(ErrorKind::invalid_argument, named + " is a directory; give the name of a file in it");
  }
  check_directory(named, path);
  if (status.type() == fs::file_type::none) {
    refuse(ErrorKind::io, named + " can't be written: " + error.message());
  }
  if (fs::exists(status)) {
    check_existing(named, path, status, inputs, force);
  }
}

}  // namespace halfstep
