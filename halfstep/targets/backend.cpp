#include "halfstep/targets/backend.h"

#include <algorithm>
#include <cctype>

#include "halfstep/support/error.h"
#include "halfstep/targets/target.h"

namespace halfstep {
namespace {

constexpr const char* kDefaultArch = "v75";

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// "v75" and "75" are the same.
std::string target_of_arch(const std::string& backend, const std::string& arch) {
  const std::string version =
      arch.starts_with('v') || arch.starts_with('V') ? arch.substr(1) : arch;
  const std::string name = backend + "_v" + version;
  std::string versions;
  for (const std::string& shipped : Target::shipped()) {
    if (shipped == name) {
      return name;
    }
    if (shipped.starts_with(backend + "_v")) {
      versions += (versions.empty() ? "" : ", ") + shipped.substr(backend.size() + 1);
    }
  }
  throw Error(ErrorKind::invalid_argument,
              "unknown htp_arch '" + arch + "'; known are " + versions);
}

}  // namespace

ChosenTarget choose_target(const TargetChoice& choice) {
  if (!choice.target.empty()) {
    require(choice.backend.empty() && choice.arch.empty(),
            "target and target_backend both name the target; give one of them");
    return {.name = choice.target, .remark = ""};
  }
  const std::string backend = lower(choice.backend);
  if (backend.empty() && choice.arch.empty()) {
    return {.name = "none", .remark = ""};
  }
  if (backend.empty() || backend == "htp") {
    const bool given = !choice.arch.empty();
    return {.name = target_of_arch("htp", given ? choice.arch : kDefaultArch),
            .remark = given ? "" : std::string("htp_arch not given: ") + kDefaultArch};
  }
  require(choice.arch.empty(), "htp_arch is about the backend HTP, found target_backend " +
                                   choice.backend + "; leave it out");
  require(backend == "lpai" || backend == "cpu",
          "unknown target_backend '" + choice.backend + "'; known are HTP, LPAI and CPU");
  return {.name = backend, .remark = ""};
}

}  // namespace halfstep
