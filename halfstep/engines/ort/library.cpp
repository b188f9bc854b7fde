#include "halfstep/engines/ort/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include <dlfcn.h>

#include "halfstep/support/error.h"

namespace halfstep::ort {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstall = "install it with: pip install onnxruntime";

struct OpenedLibrary {
  std::string path;
  const OrtApiBase* base = nullptr;
};

/// Entries of a folder whose names start so, last name first; none if the folder can't be read.
std::vector<fs::path> entries(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix)) {
      found.push_back(entry->path());
    }
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// Folders that hold this code: the shared object it is linked into, and the program.
std::vector<fs::path> own_folders() {
  std::vector<fs::path> folders;
  std::error_code error;
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&own_folders), &self) != 0 && self.dli_fname) {
    folders.push_back(fs::weakly_canonical(self.dli_fname, error).parent_path());
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (!program.empty() && (folders.empty() || program != folders.front())) {
    folders.push_back(program);
  }
  return folders;
}

class Finder {
 public:
  /// Looks for the library in one folder. Every folder is remembered for the message.
  bool in_folder(const fs::path& folder) {
    const std::vector<fs::path> files = entries(folder, "libonnxruntime.so");
    if (files.empty()) {
      note(folder.string() + ": no libonnxruntime.so*");
    }
    return std::any_of(files.begin(), files.end(),
                       [&](const fs::path& file) { return open(file.string()); });
  }

  /// <environment>/lib/python3*/site-packages/onnxruntime/capi
  bool in_environment(const fs::path& environment) {
    const std::vector<fs::path> versions = entries(environment / "lib", "python3");
    if (versions.empty()) {
      note((environment / "lib/python3*").string() + ": no such folder");
    }
    return std::any_of(versions.begin(), versions.end(), [&](const fs::path& version) {
      return in_folder(version / "site-packages/onnxruntime/capi");
    });
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
  for (const fs::path& folder : own_folders()) {
    if (finder.in_folder((folder / "../onnxruntime/capi").lexically_normal()) ||
        finder.in_environment(folder.parent_path())) {
      return true;
    }
    // A build inside the source tree: the environment that the set-up made is in a folder above.
    for (fs::path above = folder; above.has_relative_path(); above = above.parent_path()) {
      std::error_code error;
      if (fs::exists(above / ".venv/pyvenv.cfg", error) && finder.in_environment(above / ".venv")) {
        return true;
      }
    }
  }
  return false;
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
