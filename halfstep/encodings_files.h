#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/encodings/diff.h"
#include "halfstep/encodings/encoding_table.h"
#include "halfstep/encodings/schema/format.h"
#include "halfstep/encodings/schema/read.h"
#include "halfstep/model/model.h"
#include "halfstep/support/diagnostic.h"
#include "halfstep/support/json.h"

namespace halfstep {

/// How the files of one call are read. `model` is the one they belong to (float, or with Q/DQ,
/// which is folded for the names) or null: then every name is taken, and what only a graph shows
/// stays unknown: the channel axis of files before 2.0.0, the order of their blocks.
struct EncodingsSource {
  const Model* model = nullptr;
  bool lenient = false;  ///< names that the model lacks are warnings, and left out
};

/// Errors: as read_encodings_text; invalid_file if the file is missing.
[[nodiscard]] EncodingsFile read_encodings(const std::filesystem::path& path,
                                           const EncodingsSource& source, Diagnostics& diagnostics);

/// Everything that can be said about a file. Errors: invalid_file only if it can't be read at all.
struct LintReport {
  std::string file{};
  Diagnostics diagnostics{};
  [[nodiscard]] std::size_t count(Severity severity) const;
};
[[nodiscard]] LintReport lint_encodings(const std::filesystem::path& path,
                                        const EncodingsSource& source);

struct DiffOptions {
  double tolerance = 1e-6;  ///< relative, of scales
  bool common = false;      ///< only tensors that both files speak of
};
/// Where two files differ in meaning, by name. Float entries count as no entry if one of the files
/// is of version 2.x, which leaves them out.
[[nodiscard]] std::vector<EncodingDifference> diff_encodings(const std::filesystem::path& first,
                                                             const std::filesystem::path& second,
                                                             const EncodingsSource& source,
                                                             const DiffOptions& options,
                                                             Diagnostics& diagnostics);

/// The text of `path` in version `to`: in the order of the graph if there is one, else of the file.
/// Errors: unsupported naming the tensors that the version can't say, entries without a scale, and
/// what can't be said without the model.
[[nodiscard]] std::string convert_encodings(const std::filesystem::path& path, EncodingsVersion to,
                                            const EncodingsSource& source,
                                            Diagnostics& diagnostics);

/// One file out of several; of a tensor in more than one the last counts, which is a note where
/// the earlier one meant something else. Errors: as convert_encodings.
[[nodiscard]] std::string merge_encodings(std::span<const std::filesystem::path> paths,
                                          EncodingsVersion to, const EncodingsSource& source,
                                          Diagnostics& diagnostics);

/// The model without its Q/DQ and integer operators, and what they said.
/// Errors: nothing_to_do if it has none.
[[nodiscard]] std::pair<Model, EncodingTable> extract_encodings(const Model& model,
                                                                Diagnostics& diagnostics);

/// {"dtype", "granularity", "shape", "scale", "zero_point", "half_step", "block_scale", "minval",
/// "symmetric", "origin"}; what does not apply is left out.
[[nodiscard]] Json to_json(const Encoding& encoding);

}  // namespace halfstep
