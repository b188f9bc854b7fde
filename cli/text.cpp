#include "cli/text.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace halfstep::cli {
namespace {

constexpr std::size_t kLineWidth = 100;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::string two_digits(std::uint64_t value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

/// Bytes of the first `width` characters of `text`.
std::size_t prefix_bytes(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    if (starts_character(text[bytes]) && width-- == 0) {
      break;
    }
  }
  return bytes;
}

}  // namespace

std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  return {buffer.data(), static_cast<std::size_t>(length)};
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {" kB", " MB", " GB", " TB", " PB"};
  if (bytes < 1000) {
    return std::to_string(bytes) + " B";
  }
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  // 999.95 would be printed as 1000.0
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fixed(value, 1) + std::string(kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (!(seconds >= 0)) {
    return "?";
  }
  if (seconds < 0.00995) {
    return fixed(seconds * 1e3, 1) + " ms";
  }
  if (seconds < 0.9995) {
    return fixed(seconds * 1e3, 0) + " ms";
  }
  if (seconds < 59.995) {
    return fixed(seconds, seconds < 9.995 ? 2 : 1) + " s";
  }
  if (seconds > 1e9) {
    return "?";
  }
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
  }
  return std::to_string(whole / 3600) + " h " + two_digits(whole % 3600 / 60) + " min";
}

std::string significant(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

std::string decibel(double sqnr_db) {
  if (std::isinf(sqnr_db) && sqnr_db > 0) {
    return "exact";
  }
  return fixed(sqnr_db, 1) + " dB";
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7F) {
      result += c;
      continue;
    }
    std::array<char, 8> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "\\x%02x", static_cast<unsigned>(code));
    result += buffer.data();
  }
  return result;
}

std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  for (const char c : text) {
    width += starts_character(c) ? 1 : 0;
  }
  return width;
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::size_t whole = display_width(text);
  if (whole <= width || width < 5) {
    return std::string(text);
  }
  const std::size_t head = (width - 3) / 2;
  const std::size_t tail = width - 3 - head;
  return std::string(text.substr(0, prefix_bytes(text, head))) + "..." +
         std::string(text.substr(prefix_bytes(text, whole - tail)));
}

std::string wrapped(std::string_view text, std::size_t indent) {
  std::istringstream words{std::string(text)};
  std::string result;
  std::string word;
  std::size_t column = indent;
  while (words >> word) {
    const std::size_t width = display_width(word);
    if (column > indent && column + 1 + width > kLineWidth) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += width;
  }
  return result;
}

}  // namespace halfstep::cli
