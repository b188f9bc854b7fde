#include "halfstep/support/error.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace halfstep {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) {
      text += ": ";
    }
    text += part;
  }
  return text;
}

/// Insertions, deletions and substitutions from `a` to `b`, each 2; 1 for a letter of the other
/// case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) {
    row[j] = 2 * j;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = 2 * (i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = a[i] == b[j] ? 0 : lower(a[i]) == lower(b[j]) ? 1 : 2;
      const std::size_t substitute = diagonal + change;
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 2, row[j + 1] + 2, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

Error::Error(ErrorKind kind, const std::string& message) : Error(kind, std::vector{message}) {}

Error::Error(ErrorKind kind, std::vector<std::string> context)
    : std::runtime_error(join(context)), kind_(kind), context_(std::move(context)) {}

Error Error::within(std::string_view outer) const {
  std::vector<std::string> context{std::string(outer)};
  context.insert(context.end(), context_.begin(), context_.end());
  return {kind_, std::move(context)};
}

void require(bool condition, std::string_view message) {
  if (!condition) {
    throw Error(ErrorKind::invalid_argument, std::string(message));
  }
}

std::string closest_match(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  // Short names have few letters to get wrong.
  std::size_t best_distance =
      name.size() < 3 ? 2 * name.size() : 2 * std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t gap = candidate.size() > name.size() ? candidate.size() - name.size()
                                                           : name.size() - candidate.size();
    if (2 * gap >= best_distance) {
      continue;
    }
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace halfstep
