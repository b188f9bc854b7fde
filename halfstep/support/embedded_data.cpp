#include "halfstep/support/embedded_data.h"

#include <string>
#include <string_view>

#include "halfstep/support/error.h"

namespace halfstep {

std::string_view embedded_file(std::string_view name) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name == name) {
      return file.content;
    }
  }
  throw Error(ErrorKind::internal, "no file \"" + std::string(name) + "\" is built in from data/");
}

}  // namespace halfstep
