#pragma once

#include <string>

#include "halfstep/model/model.h"

namespace halfstep {

/// What tells a model from every other: 128 bits (XXH3) over graph, weights and everything else
/// that write() gives, as 32 hexadecimal digits. The place and name of its files do not count.
[[nodiscard]] std::string fingerprint(const Model& model);

}  // namespace halfstep
