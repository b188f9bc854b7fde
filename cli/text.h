#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "halfstep/support/diagnostic_text.h"

namespace halfstep::cli {

/// "512 B", "13.4 MB", "1.2 GB": decimal units, three digits at most before the point.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);
/// "0.4 ms", "12 ms", "3.42 s", "2 min 05 s", "1 h 02 min".
[[nodiscard]] std::string human_seconds(double seconds);
/// A number with a fixed count of decimals; "inf" and "nan" for those.
[[nodiscard]] std::string fixed(double value, int decimals);
/// A number in as few digits as tell it from others: six that count.
[[nodiscard]] std::string significant(double value);
/// "32.1 dB"; "exact" when nothing differs (infinity).
[[nodiscard]] std::string decibel(double sqnr_db);
using halfstep::counted;
/// Names of a model are shown as they are, but never as commands to the terminal: control
/// characters become \xNN.
[[nodiscard]] std::string printable(std::string_view text);
/// Columns that `text` takes on a terminal, one per UTF-8 character.
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;
/// `text` with its middle replaced by "..." if it is wider than `width`.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);
/// `text` broken between words at 100 columns; lines after the first start with `indent` spaces.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace halfstep::cli
