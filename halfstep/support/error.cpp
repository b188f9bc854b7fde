#include "halfstep/support/error.h"

#include <algorithm>
#include <cctype>
#include <compare>
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

/// What makes one candidate closer than another, the most important first: less is closer.
struct Closeness {
  std::size_t distance = 0;
  std::size_t gap = 0;      ///< in length
  std::size_t foreign = 0;  ///< letters of the candidate that the name does not have
  auto operator<=>(const Closeness&) const = default;
};

Closeness closeness_of(std::string_view name, const std::string& candidate) {
  Closeness result;
  result.gap = candidate.size() > name.size() ? candidate.size() - name.size()
                                              : name.size() - candidate.size();
  result.foreign =
      static_cast<std::size_t>(std::count_if(candidate.begin(), candidate.end(), [&](char c) {
        return name.find(c) == std::string_view::npos;
      }));
  // Half a name is not a wrong one.
  const bool begun = name.size() >= 2 && candidate.starts_with(name) && result.gap > 0;
  result.distance = begun ? 1 : edit_distance(name, candidate);
  return result;
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
  Closeness best_closeness;
  // Short names have few letters to get wrong.
  const std::size_t limit =
      name.size() < 3 ? 2 * name.size() : 2 * std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const Closeness closeness = closeness_of(name, candidate);
    if (closeness.distance < limit && (best == nullptr || closeness < best_closeness)) {
      best_closeness = closeness;
      best = &candidate;
    }
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace halfstep
