#include "cli/json_document.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"
#include "halfstep/version.h"

namespace halfstep::cli {

Json json_document(std::string_view command) {
  // 1: raised when a key changes its meaning or goes away.
  return {{"halfstep", kVersion}, {"schema", 1}, {"command", command}};
}

Json to_json(const Diagnostics& diagnostics) {
  constexpr std::array<std::string_view, 3> kNames = {"note", "warning", "error"};
  Json list = Json::array();
  for (const Diagnostic& diagnostic : diagnostics) {
    list.push_back({{"severity", kNames[static_cast<std::size_t>(diagnostic.severity)]},
                    {"rule", diagnostic.rule},
                    {"subject", diagnostic.subject},
                    {"message", diagnostic.message}});
  }
  return list;
}

std::string json_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace halfstep::cli
