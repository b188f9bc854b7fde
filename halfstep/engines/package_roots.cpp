#include "halfstep/engines/package_roots.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <dlfcn.h>

namespace halfstep {
namespace {

namespace fs = std::filesystem;

void add(std::vector<fs::path>& roots, const fs::path& root) {
  if (std::ranges::find(roots, root) == roots.end()) {
    roots.push_back(root);
  }
}

/// <environment>/lib/python3*/site-packages
void add_environment(std::vector<fs::path>& roots, const fs::path& environment) {
  for (const fs::path& version : entries_with_prefix(environment / "lib", "python3")) {
    add(roots, version / "site-packages");
  }
}

}  // namespace

std::vector<fs::path> entries_with_prefix(const fs::path& folder, std::string_view prefix) {
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

std::vector<fs::path> package_roots() {
  std::vector<fs::path> roots;
  for (const fs::path& folder : own_folders()) {
    add(roots, folder.parent_path());
    add_environment(roots, folder.parent_path());
    for (fs::path above = folder; above.has_relative_path(); above = above.parent_path()) {
      std::error_code error;
      if (fs::exists(above / ".venv/pyvenv.cfg", error)) {
        add_environment(roots, above / ".venv");
      }
    }
  }
  return roots;
}

}  // namespace halfstep
