#include "halfstep/support/glob.h"

#include <fnmatch.h>

namespace halfstep {

bool glob_match(std::string_view pattern, std::string_view name) {
  return pattern == name ||
         fnmatch(std::string(pattern).c_str(), std::string(name).c_str(), 0) == 0;
}

}  // namespace halfstep
