#include "halfstep/support/diagnostic_text.h"

namespace halfstep {

std::string full_message(const Diagnostic& diagnostic) {
  const auto& [severity, rule, subject, message] = diagnostic;
  // Names may be single letters: only in quotes, or as the context that leads, they are names.
  const bool named = subject.empty() || message.starts_with(subject + ":") ||
                     message.find("'" + subject + "'") != std::string::npos ||
                     message.find('"' + subject + '"') != std::string::npos;
  return named ? message : subject + ": " + message;
}

std::string counted(std::uint64_t count, std::string_view noun, std::string_view plural) {
  std::string text = std::to_string(count) + " ";
  if (count == 1 || plural.empty()) {
    text += noun;
    return text + (count == 1 ? "" : "s");
  }
  text += plural;
  return text;
}

}  // namespace halfstep
