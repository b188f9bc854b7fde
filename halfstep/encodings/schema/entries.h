#pragma once

// Entries of the single versions, and pieces they share.
#include <span>
#include <string>
#include <vector>

#include "halfstep/encodings/linear_form.h"
#include "halfstep/encodings/schema/format.h"

namespace halfstep {

[[nodiscard]] Json entry_v0_6_1(const NamedEncoding& tensor);
[[nodiscard]] Json entry_v1_0_0(const NamedEncoding& tensor);
[[nodiscard]] Json entry_v2_0_0(const NamedEncoding& tensor);
[[nodiscard]] Json entry_v2_1_0(const NamedEncoding& tensor);

/// Throws unsupported.
[[noreturn]] void refuse(const std::string& reason);

/// Parameters as a file lists them.
struct FileValues {
  LinearForm form{};
  std::vector<double> scale{};       ///< one per parameter of `form`; LPBQ: one per channel
  std::vector<double> zero_point{};  ///< likewise, half steps included; in the range of the type
  std::vector<std::int64_t> block_scale{};
};
/// Errors: unsupported for the minval formulation.
[[nodiscard]] FileValues file_values(const NamedEncoding& tensor);

/// Values in row-major order as lists in lists; a scalar for shape [].
template <typename T>
[[nodiscard]] Json nested(std::span<const T> values, std::span<const std::int64_t> shape) {
  if (shape.empty()) {
    return Json(values[0]);
  }
  Json list = Json::array();
  const auto count = static_cast<std::size_t>(shape[0]);
  const std::size_t step = count == 0 ? 0 : values.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back(nested(values.subspan(i * step, step), shape.subspan(1)));
  }
  return list;
}

/// A whole number as an integer of JSON, others as they are.
[[nodiscard]] Json number(double value);

/// 1.0.0 and older count codes from 0: the sum of this and a zero point of the type's own range is
/// the zero point there.
[[nodiscard]] double unsigned_shift(const Encoding& encoding);

}  // namespace halfstep
