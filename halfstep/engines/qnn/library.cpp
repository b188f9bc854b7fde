#include "halfstep/engines/qnn/library.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include <dlfcn.h>

#include "halfstep/engines/package_roots.h"
#include "halfstep/engines/qnn/api.h"
#include "halfstep/support/error.h"

namespace halfstep::qnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstall = "pip install 'halfstep[qnn]'";
// Every slot of the tables that is used here exists since these minor versions at the latest; older
// ones were never tried.
constexpr std::uint32_t kOldestCore = 20;
constexpr std::uint32_t kOldestSystem = 1;

bool has_libraries(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "libQnnHtp.so", error);
}

/// A folder with the libraries, or the root of an SDK.
std::optional<fs::path> folder_in(const fs::path& place) {
  for (const fs::path& folder : {place, place / "lib/x86_64-linux-clang"}) {
    if (has_libraries(folder)) {
      return folder;
    }
  }
  return std::nullopt;
}

Libraries named(const std::string& place, const std::string& source) {
  if (const std::optional<fs::path> folder = folder_in(place)) {
    return {.folder = *folder, .source = source};
  }
  throw Error(ErrorKind::unsupported,
              source + ": no libQnnHtp.so in " + place + " nor in " +
                  (fs::path(place) / "lib/x86_64-linux-clang").string() +
                  "; name the folder that holds the libraries, or install them with: " + kInstall);
}

void* open_library(const fs::path& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw Error(ErrorKind::unsupported, "cannot open the QNN library: " + std::string(dlerror()) +
                                            "; install a complete set with: " + kInstall);
  }
  return handle;
}

template <typename Function>
Function find_function(void* handle, const fs::path& library, const char* name) {
  const auto function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr) {
    throw Error(ErrorKind::unsupported, library.string() + ": not a QNN library: it lacks " + name);
  }
  return function;
}

[[noreturn]] void refuse_version(const fs::path& library, const char* api,
                                 const api::Version& found, std::uint32_t major,
                                 std::uint32_t minor) {
  throw Error(ErrorKind::unsupported,
              library.string() + ": " + api + " " + to_text(found) + ", expected " +
                  std::to_string(major) + "." + std::to_string(minor) + " or a later " +
                  std::to_string(major) + ".x; install the tested release with: " + kInstall);
}

}  // namespace

std::string to_text(const api::Version& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

const char* install_hint() noexcept { return kInstall; }

Libraries find_libraries(const std::string& given) {
  if (!given.empty()) {
    return named(given, "--qnn-libs");
  }
  if (const char* sdk = std::getenv("QAIRT_SDK_ROOT"); sdk != nullptr && *sdk != '\0') {
    return named(sdk, "QAIRT_SDK_ROOT");
  }
  std::string places;
  for (const fs::path& root : package_roots()) {
    const fs::path folder = root / "onnxruntime_qnn";
    if (has_libraries(folder)) {
      return {.folder = folder, .source = "onnxruntime-qnn"};
    }
    places += "\n  " + folder.string();
  }
  throw Error(ErrorKind::unsupported,
              std::string("found no QNN libraries (libQnnHtp.so); install them with: ") + kInstall +
                  ", or name their folder with --qnn-libs or QAIRT_SDK_ROOT; looked at:" + places);
}

const api::Interface& open_backend(const fs::path& library) {
  void* handle = open_library(library);
  const auto get = find_function<api::GetProviders>(handle, library, "QnnInterface_getProviders");
  const api::Interface* const* providers = nullptr;
  std::uint32_t count = 0;
  if (get(&providers, &count) != 0 || count == 0 || providers == nullptr) {
    throw Error(ErrorKind::unsupported, library.string() + ": offers no QNN interface");
  }
  const api::Interface& found = *providers[0];
  if (found.core_version.major != 2 || found.core_version.minor < kOldestCore) {
    refuse_version(library, "QNN core API", found.core_version, 2, kOldestCore);
  }
  return found;
}

const api::SystemInterface& open_system(const fs::path& library) {
  void* handle = open_library(library);
  const auto get =
      find_function<api::GetSystemProviders>(handle, library, "QnnSystemInterface_getProviders");
  const api::SystemInterface* const* providers = nullptr;
  std::uint32_t count = 0;
  if (get(&providers, &count) != 0 || count == 0 || providers == nullptr) {
    throw Error(ErrorKind::unsupported, library.string() + ": offers no QNN system interface");
  }
  const api::SystemInterface& found = *providers[0];
  if (found.version.major != 1 || found.version.minor < kOldestSystem) {
    refuse_version(library, "QNN system API", found.version, 1, kOldestSystem);
  }
  return found;
}

}  // namespace halfstep::qnn
