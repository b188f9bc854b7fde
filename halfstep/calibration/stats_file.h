#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/calibration/statistics.h"

namespace halfstep {

/// What statistics depend on besides the samples. Two files merge only if these are equal.
struct StatisticsSource {
  std::string halfstep{};              ///< version of halfstep
  std::string model{};                 ///< fingerprint of the model as it was loaded
  std::string graph{};                 ///< name of its graph, for messages
  std::string engine{};                ///< "ONNX Runtime 1.32.0"
  bool widened = false;                ///< the engine ran float16, bfloat16 and float64 in float32
  std::string method{};                ///< --method of the run
  std::optional<double> percentile{};  ///< of method percentile
  bool operator==(const StatisticsSource&) const = default;
};

/// Statistics of many tensors that `halfstep calibrate` wrote: what quantize needs of samples.
struct StatisticsFile {
  StatisticsSource source{};
  std::uint64_t samples = 0;
  std::map<std::string, TensorStatistics> tensors{};  ///< `range` and `moved` are not saved
};

/// The bytes of a file: the line "halfstep statistics 1\n", 8 bytes little-endian length of a JSON
/// text, the JSON (source, samples, and all of every tensor but counts of bins), the counts of all
/// histograms in the order of the JSON as LEB128 numbers, and the 64-bit XXH3 of everything before.
/// Equal statistics have equal bytes.
[[nodiscard]] std::string to_bytes(const StatisticsFile& statistics);

/// Errors: invalid_file naming `name` if the bytes are of another kind or version, truncated or
/// damaged; of another version of halfstep (statistics may mean something else there).
[[nodiscard]] StatisticsFile statistics_from_bytes(std::span<const std::byte> bytes,
                                                   const std::string& name);
[[nodiscard]] StatisticsFile read_statistics(const std::filesystem::path& path);
/// Through AtomicFile. Errors: io.
void write_statistics(const std::filesystem::path& path, const StatisticsFile& statistics);

/// The statistics of all samples of `parts`, whatever their order; `names` stand in messages.
/// Errors: invalid_argument naming the part that is of another model, engine, option or method, or
/// that holds other tensors; unsupported for moving_average.
[[nodiscard]] StatisticsFile merge_statistics(std::span<const StatisticsFile> parts,
                                              std::span<const std::string> names);

/// Errors: invalid_argument if the file is of another model, naming both graphs.
void require_model(const StatisticsFile& statistics, const std::string& fingerprint,
                   const std::string& model_name, const std::string& file_name);

}  // namespace halfstep
