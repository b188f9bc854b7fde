#include "halfstep/engines/qnn/find_worker.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>

#include <unistd.h>

#include "halfstep/engines/package_roots.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "halfstep";

bool can_run(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_worker(const std::string& given) {
  if (!given.empty()) {
    return given;
  }
  if (const char* named = std::getenv("HALFSTEP_WORKER"); named != nullptr && *named != '\0') {
    return named;
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (program.filename() == kName) {
    return program.string();
  }
  // Of a module: <environment>/lib/python3.x/site-packages/halfstep; of a program:
  // <environment>/bin.
  for (const fs::path& folder : own_folders()) {
    for (const fs::path& command :
         {folder / kName, (folder / "../../../../bin" / kName).lexically_normal()}) {
      if (can_run(command)) {
        return command.string();
      }
    }
  }
  if (const char* path = std::getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!folder.empty() && can_run(fs::path(folder) / kName)) {
        return (fs::path(folder) / kName).string();
      }
    }
  }
  throw Error(ErrorKind::unsupported,
              "QNN's libraries are called by the command halfstep, which is not in this "
              "environment nor in PATH; let HALFSTEP_WORKER name it");
}

}  // namespace halfstep::qnn
