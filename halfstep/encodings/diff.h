#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/encodings/encoding_table.h"

namespace halfstep {

/// One tensor (or use, then `<node>:<input slot>`) on which two tables disagree.
struct EncodingDifference {
  enum class Kind : std::uint8_t { only_in_first, only_in_second, different };
  std::string name{};
  Kind kind = Kind::different;
  std::string text{};  ///< what differs: "scale 0.1 against 0.2"; empty for the other kinds
};

/// How two encodings differ in meaning; empty if they give the same values. A type and its unsigned
/// twin with the zero point moved by half the range mean the same; where an encoding came from does
/// not count, and a channel axis that one of them does not know is no difference. Units:
/// `tolerance` is relative, for scales (files may hold fewer digits, or only a range).
[[nodiscard]] std::string difference_of(const Encoding& first, const Encoding& second,
                                        double tolerance = 1e-6);

/// In name order. Float encodings count as no encoding if `floats_are_absent` (2.x files leave them
/// out).
[[nodiscard]] std::vector<EncodingDifference> diff_encodings(const EncodingTable& first,
                                                             const EncodingTable& second,
                                                             double tolerance = 1e-6,
                                                             bool floats_are_absent = false);

}  // namespace halfstep
