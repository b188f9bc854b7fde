#pragma once

#include <span>
#include <string_view>

namespace halfstep {

/// A file of the folder data/, built into the library.
struct EmbeddedFile {
  std::string_view name;     ///< path below data/, such as "targets/cpu.json"
  std::string_view content;  ///< the file, byte for byte
};

/// All embedded files, in order of their names.
[[nodiscard]] std::span<const EmbeddedFile> embedded_files() noexcept;

/// The content of the file with that name.
/// Errors: internal if there is none; use embedded_files for names that users give.
[[nodiscard]] std::string_view embedded_file(std::string_view name);

}  // namespace halfstep
