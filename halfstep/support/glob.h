#pragma once

#include <string>
#include <string_view>

namespace halfstep {

/// Shell patterns on names: `*` any text (also `/`), `?` one character, `[abc]` one of these.
/// A name that equals the pattern to the letter matches even if it holds such characters.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view name);

}  // namespace halfstep
