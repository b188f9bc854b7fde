#pragma once

// Pieces that 1.0.0 and older versions share.
#include <cstdint>

#include "halfstep/encodings/schema/entries.h"

namespace halfstep {

/// Errors: unsupported unless the type is an integer.
void require_old_type(const Encoding& encoding, const char* version);
/// These versions take the type's sign from the symmetry.
[[nodiscard]] bool symmetric_flag(const Encoding& encoding);
/// Errors: unsupported unless `axis` is the one that a reader takes from the operator.
void require_channel_axis(const NamedEncoding& tensor, std::int64_t axis, const char* version);

}  // namespace halfstep
