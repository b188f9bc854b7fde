#include "halfstep/encodings/schema/file_entry.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

constexpr std::size_t kDeepest = 8;  // lists in lists; tensors of more axes have no blocks

std::string short_text(const Json& json) {
  constexpr std::size_t kLongest = 60;
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

void append(const Json& json, const char* key, std::size_t depth, NumberList& list) {
  if (json.is_number()) {
    if (depth != list.shape.size()) {
      fault(std::string(key) + ": lists of different depth");
    }
    list.values.push_back(json.get<double>());
    return;
  }
  if (!json.is_array() || json.empty() || depth >= kDeepest) {
    fault(std::string(key) + " must be a number or a list of numbers (got " + short_text(json) +
          ")");
  }
  const auto count = static_cast<std::int64_t>(json.size());
  if (list.values.empty() && depth == list.shape.size()) {
    list.shape.push_back(count);
  }
  if (depth >= list.shape.size() || list.shape[depth] != count) {
    fault(std::string(key) + ": lists of different length");
  }
  for (const Json& item : json) {
    append(item, key, depth + 1, list);
  }
}

const Json& member(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) {
    fault("has no \"" + std::string(key) + "\"");
  }
  return *found;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

void fault(const std::string& message) { throw Error(ErrorKind::invalid_file, message); }

NumberList numbers(const Json& json, const char* key) {
  NumberList list;
  append(json, key, 0, list);
  return list;
}

double number_at(const Json& json, const char* key) {
  const Json& value = member(json, key);
  if (!value.is_number()) {
    fault(std::string(key) + " must be a number (got " + short_text(value) + ")");
  }
  return value.get<double>();
}

std::int64_t integer_at(const Json& json, const char* key) {
  constexpr double kLargest = 9e15;  // beyond, a double is not exact
  const double value = number_at(json, key);
  if (value != std::floor(value) || std::abs(value) > kLargest) {
    fault(std::string(key) + " must be a whole number (got " + short_text(json.at(key)) + ")");
  }
  return static_cast<std::int64_t>(value);
}

bool flag_at(const Json& json, const char* key, bool fallback) {
  const auto found = json.find(key);
  if (found == json.end()) {
    return fallback;
  }
  if (found->is_boolean()) {
    return found->get<bool>();
  }
  const std::string text = found->is_string() ? lower(found->get<std::string>()) : found->dump();
  if (text == "true" || text == "1") {
    return true;
  }
  if (text == "false" || text == "0") {
    return false;
  }
  fault(std::string(key) + " must be true or false (got " + short_text(*found) + ")");
}

std::string lower_text_at(const Json& json, const char* key, const char* fallback) {
  const auto found = json.find(key);
  if (found == json.end()) {
    return fallback;
  }
  if (!found->is_string()) {
    fault(std::string(key) + " must be a text (got " + short_text(*found) + ")");
  }
  return lower(found->get<std::string>());
}

Dtype integer_type(bool is_signed, std::int64_t width) {
  const auto dtype = find_dtype((is_signed ? "int" : "uint") + std::to_string(width));
  if (!dtype || !is_integer(*dtype) || *dtype == Dtype::int64) {
    fault("there is no integer type of " + std::to_string(width) + " bits");
  }
  return *dtype;
}

Dtype float_type(std::int64_t width) {
  if (width == 16) {
    return Dtype::float16;
  }
  if (width != 32) {
    fault("there is no float type of " + std::to_string(width) + " bits; expected 16 or 32");
  }
  return Dtype::float32;
}

double zero_point_of_offset(double offset, Dtype dtype) {
  return -offset - (is_signed_integer(dtype) ? std::ldexp(1.0, bits(dtype) - 1) : 0.0);
}

void check_symmetric_offset(FileEntry& entry, bool symmetric) {
  if (!symmetric || !entry.zero_point) {
    return;
  }
  const auto off = [](double value) { return value != 0.0 && value != -0.5; };
  const auto found =
      std::find_if(entry.zero_point->values.begin(), entry.zero_point->values.end(), off);
  if (found != entry.zero_point->values.end()) {
    entry.remark(Severity::warning, "encodings/symmetric-offset",
                 "is marked symmetric, but its zero point lies " + std::to_string(*found) +
                     " steps off the middle; converters refuse that. Its values are kept");
  }
}

}  // namespace halfstep
