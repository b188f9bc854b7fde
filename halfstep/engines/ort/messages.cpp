#include "halfstep/engines/ort/messages.h"

#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

namespace halfstep::ort {
namespace {

void cut(std::string& text, std::size_t begin, std::size_t end) {
  text.erase(begin, end - begin);
  while (begin < text.size() && text[begin] == ' ') {
    text.erase(begin, 1);
  }
}

/// "Load model from PATH failed:"
void cut_path(std::string& text) {
  constexpr std::string_view kBegin = "Load model from ";
  constexpr std::string_view kEnd = " failed:";
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = begin == std::string::npos ? begin : text.find(kEnd, begin);
  if (end != std::string::npos) {
    cut(text, begin, end + kEnd.size());
  }
}

/// The position after the parenthesis that closes the first one behind `from`; npos without one.
std::size_t after_parentheses(const std::string& text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = text.find('(', from); i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) {
      return i + 1;
    }
  }
  return std::string::npos;
}

/// "/onnxruntime_src/a/b.cc:12 void f(int, g(*)()) const [with T = float] "
bool cut_source(std::string& text) {
  constexpr std::string_view kSource = "/onnxruntime";
  std::size_t begin = text.find(kSource);
  while (begin != std::string::npos) {
    const std::size_t space = text.find(' ', begin);
    const std::size_t colon = text.rfind(':', space);
    const bool place = space != std::string::npos && colon != std::string::npos && colon > begin &&
                       std::isdigit(static_cast<unsigned char>(text[colon + 1])) != 0;
    if (place) {
      std::size_t end = after_parentheses(text, space);
      end = end == std::string::npos ? space : end;
      for (const std::string_view tail : {" const", " [with "}) {
        if (std::string_view(text).substr(end).starts_with(tail)) {
          const std::size_t bracket =
              tail == " const" ? end + tail.size() - 1 : text.find(']', end);
          end = bracket == std::string::npos ? end : bracket + 1;
        }
      }
      cut(text, begin, end);
      return true;
    }
    begin = text.find(kSource, begin + 1);
  }
  return false;
}

}  // namespace

std::string clean_message(std::string_view message) {
  std::string text(message);
  cut_path(text);
  while (cut_source(text)) {
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  return text;
}

std::string advice_for(std::string_view message) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAdvice = {{
      {"is not a registered function",
       "the operator is not part of this engine: give an ONNX Runtime that has it built in "
       "(--onnxruntime FILE), or export the model without it"},
      {"Could not find an implementation",
       "this engine has no kernel for the operator in that version or type: export the model with "
       "an older opset or in float32, or give a newer ONNX Runtime (--onnxruntime FILE)"},
      {"is under development",
       "export the model with an older opset, or give a newer ONNX Runtime (--onnxruntime FILE)"},
      {"IR version",
       "export the model for an older ONNX version, or give a newer ONNX Runtime "
       "(--onnxruntime FILE)"},
      {"out of data bounds", "check the values of this sample: an index in it is out of range"},
  }};
  for (const auto& [part, advice] : kAdvice) {
    if (message.find(part) != std::string_view::npos) {
      return "; " + std::string(advice);
    }
  }
  return {};
}

}  // namespace halfstep::ort
