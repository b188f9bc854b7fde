#include "halfstep/support/json_reader.h"

#include <algorithm>
#include <utility>

#include "halfstep/support/error.h"

namespace halfstep {

JsonReader::JsonReader(const Json& json, std::string where)
    : json_(&json), where_(std::move(where)) {
  require(json.is_object(), where_ + ": expected an object, found " + json.type_name());
}

bool JsonReader::has(std::string_view key) const { return json_->contains(key); }

void JsonReader::allow_only(std::initializer_list<std::string_view> allowed) const {
  const std::vector<std::string> names(allowed.begin(), allowed.end());
  for (const auto& [key, value] : json_->items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) {
      continue;
    }
    const std::string close = closest_match(key, names);
    std::string list;
    for (const std::string& name : names) {
      list += (list.empty() ? "" : ", ") + name;
    }
    throw Error(
        ErrorKind::invalid_argument,
        where_ + ": unknown key \"" + key + "\"" +
            (close.empty() ? "; expected one of " + list : "; did you mean \"" + close + "\"?"));
  }
}

void JsonReader::fail(std::string_view key, std::string_view expected) const {
  const bool there = json_->contains(key);
  std::string message =
      where_ + (there ? ": \"" : ": missing key \"") + std::string(key) + "\": expected ";
  message += expected;
  message += there ? ", found " + json_->at(std::string(key)).dump() : std::string();
  throw Error(ErrorKind::invalid_argument, message);
}

const Json& JsonReader::value(std::string_view key) const {
  if (!has(key)) {
    fail(key, "a value");
  }
  return json_->at(std::string(key));
}

std::string JsonReader::text(std::string_view key) const {
  if (!has(key) || !value(key).is_string()) {
    fail(key, "a text");
  }
  return value(key).get<std::string>();
}

std::string JsonReader::text_or(std::string_view key, std::string_view fallback) const {
  return has(key) ? text(key) : std::string(fallback);
}

bool JsonReader::flag_or(std::string_view key, bool fallback) const {
  if (!has(key)) {
    return fallback;
  }
  if (!value(key).is_boolean()) {
    fail(key, "true or false");
  }
  return value(key).get<bool>();
}

std::int64_t JsonReader::integer(std::string_view key) const {
  if (!has(key) || !value(key).is_number_integer()) {
    fail(key, "an integer");
  }
  return value(key).get<std::int64_t>();
}

std::vector<std::string> JsonReader::texts(std::string_view key) const {
  std::vector<std::string> result;
  if (!has(key) || !value(key).is_array()) {
    fail(key, "an array of texts");
  }
  for (const Json& entry : value(key)) {
    if (!entry.is_string()) {
      fail(key, "an array of texts");
    }
    result.push_back(entry.get<std::string>());
  }
  return result;
}

const Json& JsonReader::array(std::string_view key) const {
  if (!has(key) || !value(key).is_array()) {
    fail(key, "an array");
  }
  return value(key);
}

std::vector<std::int64_t> JsonReader::integers(std::string_view key, std::int64_t least,
                                               std::int64_t most) const {
  std::vector<std::int64_t> result;
  for (const Json& entry : array(key)) {
    // of more than 63 bits: an unsigned number, or one with a point
    const bool small = entry.is_number_integer() &&
                       !(entry.is_number_unsigned() &&
                         entry.get<std::uint64_t>() > static_cast<std::uint64_t>(most));
    if (!small || entry.get<std::int64_t>() < least || entry.get<std::int64_t>() > most) {
      fail(key,
           "an array of integers from " + std::to_string(least) + " to " + std::to_string(most));
    }
    result.push_back(entry.get<std::int64_t>());
  }
  return result;
}

JsonReader JsonReader::object(std::string_view key) const {
  return {value(key), where_ + ": \"" + std::string(key) + "\""};
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) const {
  if (!value(key).is_array()) {
    fail(key, "an array of objects");
  }
  std::vector<JsonReader> readers;
  for (const Json& entry : value(key)) {
    readers.emplace_back(
        entry, where_ + ": \"" + std::string(key) + "\"[" + std::to_string(readers.size()) + "]");
  }
  return readers;
}

}  // namespace halfstep
