#include "halfstep/support/json.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr int kMaxDepth = 200;

// Walks the text and tells how far the parser has come, for messages about keys.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** furthest = nullptr;

  reference operator*() const {
    *furthest = std::max(*furthest, at + 1);
    return *at;
  }
  CountingIterator& operator++() {
    ++at;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++at;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
};

[[noreturn]] void fail(std::string_view name, std::string_view text, std::size_t offset,
                       const std::string& message) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw Error(ErrorKind::invalid_file, message)
      .within("line " + std::to_string(line) + ", column " +
              std::to_string(std::max<std::size_t>(before.size() - line_start, 1)))
      .within(name);
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..." without its
// head.
std::string bare_message(std::string_view what) {
  if (const std::size_t end = what.find("] "); end != std::string_view::npos) {
    what.remove_prefix(end + 2);
  }
  if (what.starts_with("parse error at")) {
    if (const std::size_t colon = what.find(": "); colon != std::string_view::npos) {
      what.remove_prefix(colon + 2);
    }
  }
  // What was read last may end inside a character, or be no UTF-8 at all.
  std::string text(what);
  for (char& c : text) {
    c = static_cast<unsigned char>(c) < 0x80U ? c : '?';
  }
  return text;
}

}  // namespace

Json parse_json(std::string_view text, std::string_view name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  const char* furthest = text.data();
  const auto offset = [&] { return static_cast<std::size_t>(furthest - text.data()); };
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        fail(name, text, offset(), "the key \"" + key + "\" is given twice; keep one");
      }
    }
    if (depth > kMaxDepth) {
      fail(name, text, offset(), "nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    return true;
  };
  try {
    const char* begin = furthest;
    return Json::parse(CountingIterator{.at = begin, .furthest = &furthest},
                       CountingIterator{.at = begin + text.size(), .furthest = &furthest}, watch);
  } catch (const Json::exception& error) {
    fail(name, text, offset(), bare_message(error.what()));
  }
}

}  // namespace halfstep
