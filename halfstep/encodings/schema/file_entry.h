#pragma once

// One entry of a file after its JSON was checked and before the tensor's shape is looked at.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/dtype.h"
#include "halfstep/encodings/schema/format.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"

namespace halfstep {

/// Numbers with the shape of the lists they stood in; a plain number has shape [].
struct NumberList {
  std::vector<double> values{};
  Shape shape{};
};

enum class FileLayout : std::uint8_t { per_tensor, per_channel, per_block, lpbq };

struct FileEntry {
  std::string name{};
  std::string where{};  ///< place in the file: encodings[3]
  Dtype dtype = Dtype::uint8;
  FileLayout layout = FileLayout::per_tensor;
  std::optional<NumberList> scale{};           ///< empty: a float type, or a type to be calibrated
  std::optional<NumberList> zero_point{};      ///< in the range of dtype; empty: 0
  std::optional<std::int64_t> axis{};          ///< channel axis, or the axis cut into blocks
  std::optional<std::int64_t> channel_axis{};  ///< LPBQ, where the file has it
  std::int64_t block_size = 0;
  NumberList block_scale{};     ///< LPBQ
  int decompressed_bits = 8;    ///< LPBQ
  bool channels_first = false;  ///< 1.0.0: flat lists run over channels, then blocks
  std::vector<Diagnostic> remarks{};

  void remark(Severity severity, const char* rule, std::string message) {
    remarks.push_back(
        {.severity = severity, .rule = rule, .subject = name, .message = std::move(message)});
  }
};

/// Entries of the three families of versions. Errors: invalid_file with the key and the reason.
[[nodiscard]] FileEntry read_entry_v0(const std::string& name, const Json& json);
[[nodiscard]] FileEntry read_entry_v1(const std::string& name, const Json& json);
[[nodiscard]] FileEntry read_entry_v2(const std::string& name, const Json& json);

/// Ties an entry to its tensor.
/// Errors: invalid_file if counts, axes or blocks do not fit.
[[nodiscard]] Encoding resolve_entry(const FileEntry& entry, const TensorFacts& facts);

/// Pieces for the readers. Errors: invalid_file naming `key`.
[[noreturn]] void fault(const std::string& message);
[[nodiscard]] NumberList numbers(const Json& json, const char* key);
[[nodiscard]] double number_at(const Json& json, const char* key);
[[nodiscard]] std::int64_t integer_at(const Json& json, const char* key);
/// true/false, "True"/"False" in any case, 0/1; absent: `fallback`.
[[nodiscard]] bool flag_at(const Json& json, const char* key, bool fallback);
[[nodiscard]] std::string lower_text_at(const Json& json, const char* key, const char* fallback);
/// int8, uint16, ... by sign and width.
[[nodiscard]] Dtype integer_type(bool is_signed, std::int64_t width);
[[nodiscard]] Dtype float_type(std::int64_t width);
/// A zero point of the old versions (codes from 0, sign reversed) in the range of `dtype`.
[[nodiscard]] double zero_point_of_offset(double offset, Dtype dtype);
/// Adds the warning for a symmetric entry whose zero point is not in the middle.
void check_symmetric_offset(FileEntry& entry, bool symmetric);

}  // namespace halfstep
