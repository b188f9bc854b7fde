#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/support/json.h"

namespace halfstep {

/// Reads one object of a file whose every key is known: a wrong key, type or value is an error that
/// names the file, the place in it, what was found and what was expected.
/// Errors: invalid_argument (the files of this kind are configuration: recipes, targets).
class JsonReader {
 public:
  JsonReader(const Json& json, std::string where);

  [[nodiscard]] bool has(std::string_view key) const;
  /// Errors if an object key is not in `allowed` (with the closest one).
  void allow_only(std::initializer_list<std::string_view> allowed) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text_or(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] bool flag_or(std::string_view key, bool fallback) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  /// The elements of an array; of an array of integers, each within bounds.
  [[nodiscard]] const Json& array(std::string_view key) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key, std::int64_t least,
                                                   std::int64_t most) const;
  /// A reader of the object under `key`; of each object of the array under `key`.
  [[nodiscard]] JsonReader object(std::string_view key) const;
  [[nodiscard]] std::vector<JsonReader> objects(std::string_view key) const;
  [[nodiscard]] const Json& value(std::string_view key) const;
  [[nodiscard]] const Json& json() const noexcept { return *json_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }
  /// Throws: `where`, the key, what is expected, what was found.
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

 private:
  const Json* json_;
  std::string where_;
};

}  // namespace halfstep
