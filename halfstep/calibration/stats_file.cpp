#include "halfstep/calibration/stats_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "halfstep/calibration/stats_json.h"
#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "halfstep/support/json.h"
#include "halfstep/version.h"

namespace halfstep {
namespace {

constexpr std::string_view kMagic = "halfstep statistics ";
constexpr std::string_view kVersionLine = "halfstep statistics 1\n";
constexpr std::size_t kNumber = 8;  // bytes of the header's length and of the checksum

void put_number(std::string& bytes, std::uint64_t value) {
  for (std::size_t i = 0; i < kNumber; ++i) {
    bytes.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
}

std::uint64_t number_at(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = kNumber; i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

void put_counts(std::string& bytes, const std::vector<std::uint64_t>& counts) {
  for (std::uint64_t count : counts) {
    while (count >= 0x80) {
      bytes.push_back(static_cast<char>(count | 0x80));
      count >>= 7;
    }
    bytes.push_back(static_cast<char>(count));
  }
}

/// Takes numbers from the front of `bytes`.
std::vector<std::uint64_t> take_counts(std::string_view& bytes, std::size_t count) {
  std::vector<std::uint64_t> counts;
  require(count <= bytes.size(), "the counts of its histograms are cut off");
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      require(!bytes.empty() && shift < 64, "the counts of its histograms are cut off");
      const auto byte = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) {
        break;
      }
    }
    counts.push_back(value);
  }
  return counts;
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorKind::invalid_file, name + ": " + why);
}

void check_frame(std::string_view text, const std::string& name) {
  if (!text.starts_with(kMagic)) {
    refuse(name,
           "these are no statistics of halfstep; give a file that 'halfstep calibrate' wrote");
  }
  if (!text.starts_with(kVersionLine)) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), kMagic.size() + 8));
    refuse(name, "statistics of another format, \"" + std::string(line) + "\", expected \"" +
                     std::string(kVersionLine.substr(0, kVersionLine.size() - 1)) +
                     "\"; calibrate again with this version of halfstep");
  }
  const std::string again = "; it was cut off or damaged, calibrate again";
  if (text.size() < kVersionLine.size() + 2 * kNumber) {
    refuse(name, "only " + std::to_string(text.size()) + " bytes" + again);
  }
  const std::string_view checked = text.substr(0, text.size() - kNumber);
  if (XXH3_64bits(checked.data(), checked.size()) != number_at(text.substr(checked.size()))) {
    refuse(name, "its checksum does not fit its " + std::to_string(text.size()) + " bytes" + again);
  }
}

void require_equal(const std::string& what, const std::string& found, const std::string& expected,
                   const std::string& name, const std::string& first) {
  if (found != expected) {
    throw Error(ErrorKind::invalid_argument, name + ": statistics of " + what + " " + found +
                                                 ", and those of " + first + " are of " + expected +
                                                 "; only statistics of the same model, made in the "
                                                 "same way, can be merged");
  }
}

std::string method_text(const StatisticsSource& source) {
  return source.method + (source.percentile ? " " + Json(*source.percentile).dump() : "");
}

void require_same_source(const StatisticsSource& source, const StatisticsSource& expected,
                         const std::string& name, const std::string& first) {
  require_equal("model", source.graph + " (" + source.model + ")",
                expected.graph + " (" + expected.model + ")", name, first);
  require_equal("engine", source.engine, expected.engine, name, first);
  const auto types = [](bool widened) {
    return std::string(widened ? "float32 instead of the model's types" : "the model's types");
  };
  require_equal("a run in", types(source.widened), types(expected.widened), name, first);
  require_equal("method", method_text(source), method_text(expected), name, first);
  require_equal("halfstep", source.halfstep, expected.halfstep, name, first);
}

void require_same_tensors(const StatisticsFile& part, const StatisticsFile& expected,
                          const std::string& name, const std::string& first) {
  for (const auto& [a, b, lacking, having] :
       {std::tuple(&expected, &part, &name, &first), std::tuple(&part, &expected, &first, &name)}) {
    for (const auto& [tensor, statistics] : a->tensors) {
      if (!b->tensors.contains(tensor)) {
        throw Error(ErrorKind::invalid_argument,
                    *lacking + ": no statistics of tensor \"" + tensor + "\", which " + *having +
                        " has; calibrate both with the same recipe, target and encodings");
      }
    }
  }
}

}  // namespace

std::string to_bytes(const StatisticsFile& statistics) {
  const std::string header = internal::statistics_json(statistics).dump();
  std::string bytes(kVersionLine);
  put_number(bytes, header.size());
  bytes += header;
  for (const auto& [name, tensor] : statistics.tensors) {
    if (tensor.histogram) {
      put_counts(bytes, tensor.histogram->counts());
    }
  }
  put_number(bytes, XXH3_64bits(bytes.data(), bytes.size()));
  return bytes;
}

StatisticsFile statistics_from_bytes(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check_frame(text, name);
  try {
    std::string_view rest = text.substr(kVersionLine.size());
    const std::uint64_t header = number_at(rest);
    rest.remove_prefix(kNumber);
    rest.remove_suffix(kNumber);
    require(header <= rest.size(), "its header is cut off");
    const Json json = parse_json(std::string(rest.substr(0, header)), "header");
    rest.remove_prefix(header);
    StatisticsFile file = internal::read_statistics_json(
        json, [&](std::size_t count) { return take_counts(rest, count); });
    require(rest.empty(), std::to_string(rest.size()) + " bytes too many");
    if (file.source.halfstep != kVersion) {
      refuse(name, "statistics of halfstep " + file.source.halfstep + ", and this is " +
                       std::string(kVersion) + "; calibrate again");
    }
    return file;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_file) {
      throw;
    }
    refuse(name, std::string("damaged statistics: ") + error.what());
  }
}

StatisticsFile read_statistics(const std::filesystem::path& path) {
  require_readable(path);
  return statistics_from_bytes(MappedFile(path).bytes(), path.string());
}

void write_statistics(const std::filesystem::path& path, const StatisticsFile& statistics) {
  AtomicFile file(path);
  file.write(to_bytes(statistics));
  file.commit();
}

StatisticsFile merge_statistics(std::span<const StatisticsFile> parts,
                                std::span<const std::string> names) {
  require(!parts.empty() && parts.size() == names.size(), "no statistics to merge");
  StatisticsFile merged = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    require_same_source(parts[i].source, merged.source, names[i], names[0]);
    require_same_tensors(parts[i], merged, names[i], names[0]);
    merged.samples += parts[i].samples;
    for (auto& [tensor, statistics] : merged.tensors) {
      try {
        merge(statistics, parts[i].tensors.at(tensor));
      } catch (const Error& error) {
        throw error.within(names[i] + ": tensor \"" + tensor + '"');
      }
    }
  }
  return merged;
}

void require_model(const StatisticsFile& statistics, const std::string& fingerprint,
                   const std::string& model_name, const std::string& file_name) {
  if (statistics.source.model != fingerprint) {
    throw Error(ErrorKind::invalid_argument,
                file_name + ": statistics of another model: of graph " + statistics.source.graph +
                    " (" + statistics.source.model + "), and " + model_name + " is " + fingerprint +
                    "; calibrate this model");
  }
}

}  // namespace halfstep
