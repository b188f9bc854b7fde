#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "halfstep/support/diagnostic.h"

namespace halfstep {

/// The message with what it is about: most messages quote their subject, the others get it in
/// front, "conv1.out: 3 NaN among ...".
[[nodiscard]] std::string full_message(const Diagnostic& diagnostic);

/// "1 node", "2 nodes"; "2 axes" with a plural of its own.
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun,
                                  std::string_view plural = {});

}  // namespace halfstep
