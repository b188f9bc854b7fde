#include "halfstep/engines/ort/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include <dlfcn.h>

#include "halfstep/engines/package_roots.h"
#include "halfstep/support/error.h"

namespace halfstep::ort {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstall = "install it with: pip install onnxruntime";

struct OpenedLibrary {
  std::string path;
  const OrtApiBase* base = nullptr;
};

class Finder {
 public:
  /// Looks for the library in one folder. Every folder is remembered for the message.
  bool in_folder(const fs::path& folder) {
    const std::vector<fs::path> files = entries_with_prefix(folder, "libonnxruntime.so");
    if (files.empty()) {
      note(folder.string() + ": no libonnxruntime.so*");
    }
    return std::any_of(files.begin(), files.end(),
                       [&](const fs::path& file) { return open(file.string()); });
  }

  bool open(const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      note(dlerror());
      return false;
    }
    using GetBase = const OrtApiBase* (*)();
    const auto get_base = reinterpret_cast<GetBase>(dlsym(handle, "OrtGetApiBase"));
    const OrtApiBase* base = get_base == nullptr ? nullptr : get_base();
    if (base == nullptr || base->GetApi(ORT_API_VERSION) == nullptr) {
      note(path + (base == nullptr ? ": not ONNX Runtime"
                                   : std::string(": release ") + base->GetVersionString() +
                                         " is older than 1." + std::to_string(ORT_API_VERSION)));
      dlclose(handle);
      return false;
    }
    library_ = {.path = path, .base = base};
    return true;
  }

  [[nodiscard]] const OpenedLibrary& library() const noexcept { return library_; }
  [[nodiscard]] const std::string& places() const noexcept { return places_; }

 private:
  void note(const std::string& place) { places_ += "\n  " + place; }
  OpenedLibrary library_{};
  std::string places_{};
};

bool find_beside_us(Finder& finder) {
  return std::ranges::any_of(package_roots(), [&](const fs::path& root) {
    return finder.in_folder(root / "onnxruntime/capi");
  });
}

OpenedLibrary find_library(const std::string& library) {
  Finder finder;
  const bool found = library.empty() ? find_beside_us(finder) || finder.open("libonnxruntime.so.1")
                                     : finder.open(library);
  if (!found) {
    throw Error(ErrorKind::unsupported, std::string("found no usable ONNX Runtime library; ") +
                                            kInstall + "; looked at:" + finder.places());
  }
  return finder.library();
}

/// The library never prints: errors arrive as exceptions with the same text.
void discard_message(void*, OrtLoggingLevel, const char*, const char*, const char*, const char*) {}

}  // namespace

Runtime::Runtime(const std::string& library) {
  // Releases since 1.32 report usage over the network unless this is set before they are loaded;
  // the call DisableTelemetryEvents comes too late for the database they keep in the user's home.
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  const OpenedLibrary opened = find_library(library);
  library_ = opened.path;
  version_ = opened.base->GetVersionString();
  Ort::InitApi(opened.base->GetApi(ORT_API_VERSION));
  env_.emplace(ORT_LOGGING_LEVEL_ERROR, "halfstep", discard_message, nullptr);
}

std::shared_ptr<Runtime> runtime(const std::string& library) {
  // The library can be opened only once a process, and its environment costs 30 ms.
  static std::mutex mutex;
  static std::shared_ptr<Runtime> shared;
  const std::lock_guard lock(mutex);
  if (!shared) {
    shared = std::make_shared<Runtime>(library);
  }
  std::error_code error;
  if (!library.empty() && library != shared->library() &&
      !fs::equivalent(library, shared->library(), error)) {
    throw Error(ErrorKind::invalid_argument, "ONNX Runtime is loaded from \"" + shared->library() +
                                                 "\" already; this process can't also use \"" +
                                                 library + "\"");
  }
  return shared;
}

}  // namespace halfstep::ort
