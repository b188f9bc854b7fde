#pragma once

// Pieces that the versions 2.x share.
#include <string>
#include <string_view>

#include "halfstep/encodings/schema/entries.h"

namespace halfstep {

/// Errors: unsupported for a type without a name in these versions.
[[nodiscard]] std::string_view type_name_v2(Dtype dtype);
/// The type that a file means, underscores aside. Errors: invalid_file with the closest name.
[[nodiscard]] Dtype parse_type_v2(const std::string& text);
[[nodiscard]] Json entry_start_v2(const NamedEncoding& tensor);
void add_axis_v2(const FileValues& values, Json& entry);
/// Entry of everything but LPBQ.
[[nodiscard]] Json linear_entry_v2(const NamedEncoding& tensor);

}  // namespace halfstep
