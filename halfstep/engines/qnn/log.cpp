#include "halfstep/engines/qnn/log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halfstep::qnn {
namespace {

constexpr std::size_t kMostMessages = 200;  // a graph that fails can say a line an operator
constexpr std::size_t kLongestLine = 240;
constexpr std::size_t kShownMessages = 6;
constexpr std::string_view kList = "Supported I/O datatype sets for the configuration: ";

struct Log {
  std::mutex mutex{};
  std::vector<std::string> messages{};
};
Log& log() {
  static Log instance;
  return instance;
}

void collect(const char* format, std::uint32_t /*level*/, std::uint64_t /*time*/,
             std::va_list arguments) {
  std::array<char, 8192> text{};
  const int size = std::vsnprintf(text.data(), text.size(), format, arguments);
  const std::lock_guard lock(log().mutex);
  if (size > 0 && log().messages.size() < kMostMessages) {
    log().messages.emplace_back(text.data());
  }
}

std::string trimmed(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && space(text.back())) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

void add_new(std::vector<std::string>& list, std::string line) {
  if (std::ranges::find(list, line) == list.end()) {
    list.push_back(std::move(line));
  }
}

/// "QNN_DATATYPE_UFIXED_POINT_8" is "ufixed8".
std::string short_type(std::string_view type) {
  constexpr std::string_view kPrefix = "QNN_DATATYPE_";
  if (type.starts_with(kPrefix)) {
    type.remove_prefix(kPrefix.size());
  }
  std::string text;
  for (const char c : type) {
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string_view part : {"_point", "_"}) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) {
      text.erase(at, part.size());
    }
  }
  return text;
}

/// A list of the backend: its head names the configuration; then, for each set, a line "1:" and a
/// line "in[0]:TYPE" an operand.
void read_sets(const std::string& message, std::vector<std::string>& kernels) {
  std::istringstream lines(message);
  std::string line;
  std::getline(lines, line);
  const std::string configuration = trimmed(line.substr(line.find(kList) + kList.size()));
  std::string set;
  const auto finish = [&] {
    if (!set.empty()) {
      add_new(kernels, configuration + ": " + set);
    }
    set.clear();
  };
  while (std::getline(lines, line)) {
    line = trimmed(line);
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) {
      continue;
    }
    if (colon + 1 == line.size()) {  // "2:"
      finish();
      continue;
    }
    set += (set.empty() ? "" : ", ") + line.substr(0, colon) + " " +
           short_type(trimmed(line.substr(colon + 1)));
  }
  finish();
}

/// Lines that follow every refusal, or come with every graph, and say nothing more.
bool says_nothing(const std::string& message) {
  constexpr std::array<std::string_view, 9> kNothing = {
      "Requested I/O datatype set",
      "Please refer to the",
      "_validateOpConfig failed",
      "Failed to validate op ",
      "validateNativeOps master",
      "Op specific validation failed",
      "VTCM_OFFSET/VTCM_TOTAL_SIZE",  // these three come with every graph on the emulator
      "Sanitizing the value for hvx_threads",
      "unexpected GraphHtpSettings option"};
  return std::ranges::any_of(
      kNothing, [&](std::string_view text) { return message.find(text) != std::string::npos; });
}

}  // namespace

api::LogCallback log_callback() noexcept { return &collect; }

std::vector<std::string> take_log() {
  const std::lock_guard lock(log().mutex);
  return std::exchange(log().messages, {});
}

LogSummary summarize(const std::vector<std::string>& log) {
  LogSummary summary;
  for (const std::string& message : log) {
    if (message.find(kList) != std::string::npos) {
      read_sets(message, summary.kernels);
      continue;
    }
    std::string line = trimmed(message);
    for (const std::string_view mark : {"<E> ", "<W> "}) {
      if (line.starts_with(mark)) {
        line.erase(0, mark.size());
      }
    }
    if (line.empty() || says_nothing(line) || summary.messages.size() == kShownMessages) {
      continue;
    }
    std::ranges::replace(line, '\n', ' ');
    if (line.size() > kLongestLine) {
      line.resize(kLongestLine);
      line += "...";
    }
    add_new(summary.messages, std::move(line));
  }
  return summary;
}

}  // namespace halfstep::qnn
