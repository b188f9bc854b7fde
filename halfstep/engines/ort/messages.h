#pragma once

#include <string>
#include <string_view>

namespace halfstep::ort {

/// A message of ONNX Runtime without what says nothing to users: the path of the file that was made
/// for it ("Load model from ... failed:"), places in its source code with their signatures,
/// trailing line ends.
[[nodiscard]] std::string clean_message(std::string_view message);

/// What a user can do about it, as "; next step"; empty if there is no general advice.
[[nodiscard]] std::string advice_for(std::string_view message);

}  // namespace halfstep::ort
